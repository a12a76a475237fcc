// SPDX-License-Identifier: Apache-2.0
#include "store/codec.h"

#include "tests/store/allocations.h"
#include "tests/store/key_list.h"
#include "tests/store/vectors.h"

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace rankrun::store {
namespace {

using test::from_hex;

const std::string handshake = from_hex("00cef7853c");
const std::string key_field = from_hex("0200000000000000") + "/k";
const std::string value_field = from_hex("0200000000000000") + "v1";
const std::string minus_two = from_hex("feffffffffffffff");  // -2

std::string u64(std::uint64_t number) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>((number >> (8 * i)) & 0xff);
  }
  return bytes;
}

struct Decoded {
  std::vector<Command> commands;
  std::optional<errc> error;
};

Decoded decode(Decoder& decoder, std::string_view bytes) {
  Decoded decoded;
  auto input = std::as_bytes(std::span(bytes));
  while (!input.empty()) {
    auto command = decoder.next(input);
    if (!command) {
      decoded.error = command.error();
      return decoded;
    }
    if (*command != nullptr) decoded.commands.push_back(**command);
  }
  return decoded;
}

Decoded decode(std::string_view bytes, Legacy legacy = Legacy::accepted) {
  Decoder decoder(legacy);
  return decode(decoder, bytes);
}

Decoded decode_modern(const std::string& requests) {
  return decode(handshake + requests);
}

Command command(Operation operation, std::string key = {}) {
  Command result;
  result.operation = operation;
  result.key = std::move(key);
  return result;
}

Command storing(Operation operation) {
  Command result = command(operation, "/k");
  result.value = "v1";
  return result;
}

Command comparing() {
  Command result = storing(Operation::compare_set);
  result.expected = "v1";
  return result;
}

Command counting(Operation operation, std::int64_t number, std::string key = "/k") {
  Command result = command(operation, std::move(key));
  result.number = number;
  return result;
}

Command listing(Operation operation) {
  Command result = command(operation);
  result.keys = test::key_list({"/k", "/k"});
  return result;
}

struct Request {
  std::string bytes;  // the code and its arguments
  std::vector<Command> commands;
};

const std::string two_keys = u64(2) + key_field + key_field;

const std::vector<Request> modern_requests = {
    {"\x01" + key_field + value_field, {storing(Operation::set)}},
    {"\x02" + key_field + value_field + value_field, {comparing()}},
    {"\x03" + key_field, {command(Operation::get, "/k")}},
    {"\x04" + key_field + minus_two, {counting(Operation::add, -2)}},
    {"\x05" + two_keys, {listing(Operation::check)}},
    {"\x06" + two_keys, {listing(Operation::wait)}},
    {"\x07", {command(Operation::num_keys)}},
    {"\x08" + key_field, {command(Operation::delete_key, "/k")}},
    {"\x09" + key_field + value_field, {storing(Operation::append)}},
    {"\x0a" + two_keys, {listing(Operation::multi_get)}},
    {"\x0b" + u64(2) + key_field + value_field + key_field + value_field,
     {counting(Operation::multi_set, 2, ""), storing(Operation::set), storing(Operation::set)}},
    {"\x0b" + u64(0), {command(Operation::multi_set)}},
    {"\x0c", {command(Operation::cancel_wait)}},
    {"\x0d" + from_hex("feffffff"), {counting(Operation::ping, 0xfffffffe, "")}},
    {"\x0e" + key_field + value_field, {storing(Operation::queue_push)}},
    {"\x0f" + key_field, {command(Operation::queue_pop, "/k")}},
    {"\x10" + key_field, {command(Operation::queue_len, "/k")}},
    {"\x11", {command(Operation::list_keys)}},
    {"\x12" + key_field + minus_two, {counting(Operation::barrier, -2)}},
};

const std::vector<Request> legacy_requests = {
    {std::string(1, '\0') + key_field + value_field, {storing(Operation::set)}},
    {"\x01" + key_field + value_field + value_field, {comparing()}},
    {"\x02" + key_field, {command(Operation::get, "/k")}},
    {"\x03" + key_field + minus_two, {counting(Operation::add, -2)}},
    {"\x04" + two_keys, {listing(Operation::check)}},
    {"\x05" + two_keys, {listing(Operation::wait)}},
    {"\x06", {command(Operation::num_keys)}},
    {"\x07" + key_field, {command(Operation::delete_key, "/k")}},
    {"\x08" + key_field + value_field, {storing(Operation::append)}},
    {"\x09" + two_keys, {listing(Operation::multi_get)}},
    {"\x0a" + u64(2) + key_field + value_field + key_field + value_field,
     {counting(Operation::multi_set, 2, ""), storing(Operation::set), storing(Operation::set)}},
    {"\x0b", {command(Operation::cancel_wait)}},
};

/// All requests with what a connection has to send before the first.
std::vector<std::pair<std::string, Request>> all_requests() {
  std::vector<std::pair<std::string, Request>> all;
  all.reserve(modern_requests.size() + legacy_requests.size());
  for (const Request& request : modern_requests) {
    all.emplace_back(handshake, request);
  }
  for (const Request& request : legacy_requests) {
    all.emplace_back("", request);
  }
  return all;
}

std::string encoded(const Reply& reply) {
  Output output;
  encode(reply, output);
  std::array<std::string_view, 64> views;
  const std::size_t count = output.gather(views);
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += views[i];
  }
  return bytes;
}

Value value_of(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace

TEST_CASE("every request of all dialects is decoded, whole and byte by byte", "[store][codec]") {
  for (const auto& [opening, request] : all_requests()) {
    const std::string bytes = opening + request.bytes;
    INFO("operation " << static_cast<int>(request.commands[0].operation));
    const Decoded whole = decode(bytes);
    REQUIRE(!whole.error);
    REQUIRE(whole.commands == request.commands);

    Decoder decoder(Legacy::accepted);
    std::vector<Command> commands;
    for (const char byte : bytes) {
      Decoded decoded = decode(decoder, std::string_view(&byte, 1));
      REQUIRE(!decoded.error);
      commands.insert(commands.end(), decoded.commands.begin(), decoded.commands.end());
    }
    REQUIRE(commands == request.commands);
    REQUIRE(decoder.requests() == 1);
    REQUIRE(decoder.dialect() == (opening.empty() ? Dialect::legacy : Dialect::modern));
  }
}

TEST_CASE("a truncated request is neither a request nor an error", "[store][codec]") {
  for (const auto& [opening, request] : all_requests()) {
    const std::string bytes = opening + request.bytes;
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      INFO("operation " << static_cast<int>(request.commands[0].operation) << ", " << length
                        << " bytes");
      Decoder decoder(Legacy::accepted);
      const Decoded decoded = decode(decoder, std::string_view(bytes).substr(0, length));
      REQUIRE(!decoded.error);
      REQUIRE(decoder.requests() == 0);
      REQUIRE(decoded.commands.size() < request.commands.size());
    }
  }
}

TEST_CASE("requests that share a segment are all decoded", "[store][codec]") {
  std::string bytes = handshake;
  std::vector<Command> expected;
  for (const Request& request : modern_requests) {
    bytes += request.bytes;
    expected.insert(expected.end(), request.commands.begin(), request.commands.end());
  }
  Decoder decoder(Legacy::refused);
  const Decoded decoded = decode(decoder, bytes);
  REQUIRE(!decoded.error);
  REQUIRE(decoded.commands == expected);
  REQUIRE(decoder.requests() == modern_requests.size());
}

TEST_CASE("a multi_set hands each pair on as soon as it is in", "[store][codec]") {
  Decoder decoder(Legacy::refused);
  REQUIRE(decode(decoder, handshake + "\x0b" + u64(3)).commands.size() == 1);
  REQUIRE(decode(decoder, key_field + value_field).commands ==
          std::vector{storing(Operation::set)});
  REQUIRE(decode(decoder, key_field).commands.empty());
  REQUIRE(decode(decoder, value_field + key_field).commands ==
          std::vector{storing(Operation::set)});
  REQUIRE(decoder.requests() == 0);
  REQUIRE(decode(decoder, value_field + "\x07").commands.size() == 2);
  REQUIRE(decoder.requests() == 2);
}

TEST_CASE("the first bytes tell the dialect", "[store][codec]") {
  Decoder decoder(Legacy::accepted);
  REQUIRE(!decode(decoder, handshake.substr(0, 4)).error);
  REQUIRE(!decoder.dialect());
  REQUIRE(!decode(decoder, handshake.substr(4)).error);
  REQUIRE(decoder.dialect() == Dialect::modern);

  REQUIRE(decode(from_hex("00deadbeef")).error == errc::bad_magic);
  REQUIRE(decode(from_hex("0001200000")).error == errc::bad_magic);
  REQUIRE(!decode(from_hex("0000200000")).error);
  REQUIRE(decode(from_hex("000020000001000000")).error == errc::key_too_long);
  for (int code = 12; code < 256; ++code) {
    REQUIRE(decode(std::string(1, static_cast<char>(code))).error == errc::unknown_protocol);
  }
}

TEST_CASE("legacy clients are refused where they are not served", "[store][codec]") {
  for (int code = 1; code <= 11; ++code) {
    const std::string bytes(1, static_cast<char>(code));
    REQUIRE(decode(bytes, Legacy::refused).error == errc::legacy_refused);
  }
  REQUIRE(decode(from_hex("0002000000"), Legacy::refused).error == errc::legacy_refused);
  REQUIRE(decode(from_hex("00deadbeef"), Legacy::refused).error == errc::bad_magic);
  REQUIRE(!decode(handshake, Legacy::refused).error);
}

TEST_CASE("codes that a dialect does not serve are refused", "[store][codec]") {
  for (int code = 0x13; code < 256; ++code) {
    REQUIRE(decode(handshake + static_cast<char>(code)).error == errc::unknown_code);
  }
  REQUIRE(decode(handshake + handshake).error == errc::repeated_handshake);
  REQUIRE(decode(handshake + from_hex("07") + handshake).error == errc::repeated_handshake);
  for (int code = 12; code < 256; ++code) {
    REQUIRE(decode(from_hex("06") + static_cast<char>(code)).error == errc::unknown_code);
  }
}

TEST_CASE("a delete of 1.13 is one until a byte makes it an append of 2.1", "[store][codec]") {
  Decoder decoder(Legacy::accepted);
  REQUIRE(!decoder.undecided());
  REQUIRE(decode(decoder, "\x08" + key_field.substr(0, 9)).commands.empty());
  REQUIRE(!decoder.undecided());
  REQUIRE(decode(decoder, key_field.substr(9)).commands.empty());
  REQUIRE(decoder.undecided());
  SECTION("none comes") {
    REQUIRE(*decoder.decide() == command(Operation::delete_key, "/k"));
    REQUIRE(!decoder.undecided());
    REQUIRE(!decoder.proved_2_1());
    REQUIRE(decoder.requests() == 1);
    REQUIRE(decode(decoder, "\x06").commands == std::vector{command(Operation::num_keys)});
  }
  SECTION("one comes") {
    REQUIRE(decode(decoder, value_field.substr(0, 1)).commands.empty());
    REQUIRE(!decoder.undecided());
    REQUIRE(decode(decoder, value_field.substr(1)).commands ==
            std::vector{storing(Operation::append)});
    REQUIRE(decoder.proved_2_1());
    REQUIRE(decode(decoder, "\x08" + key_field).commands.empty());
    REQUIRE(!decoder.undecided());
  }
}

TEST_CASE("codes above those of 1.13 prove PyTorch 2.1", "[store][codec]") {
  for (const std::string& request : {"\x09" + u64(0), "\x0a" + u64(0), std::string("\x0b")}) {
    Decoder decoder(Legacy::accepted);
    REQUIRE(!decode(decoder, "\x06").error);
    REQUIRE(!decoder.proved_2_1());
    REQUIRE(!decode(decoder, request).error);
    REQUIRE(decoder.proved_2_1());
    REQUIRE(!decode(decoder, "\x08" + key_field).error);
    REQUIRE(!decoder.undecided());
  }
}

TEST_CASE("requests of one size allocate nothing once the buffers have grown", "[store][codec]") {
  const std::string key = u64(40) + std::string(40, 'k');
  const std::string value = u64(200) + std::string(200, 'v');
  const std::string requests = "\x01" + key + value + "\x03" + key + "\x04" + key + u64(1) +
                               "\x06" + u64(2) + key + key + "\x02" + key + value + value;
  Decoder decoder(Legacy::refused);
  const auto run = [&](const std::string& bytes) {
    auto input = std::as_bytes(std::span(bytes));
    int commands = 0;
    while (decoder.next(input).value() != nullptr) {
      ++commands;
    }
    return commands;
  };
  run(handshake + requests);
  const std::size_t before = test::allocated_bytes();
  const int commands = run(requests);
  const std::size_t after = test::allocated_bytes();
  REQUIRE(commands == 5);
  REQUIRE(after == before);
}

TEST_CASE("each limit is accepted and one more is refused before its bytes come",
          "[store][codec]") {
  const std::string huge = u64(std::uint64_t{1} << 62);
  const std::string negative = u64(~std::uint64_t{0});
  const std::string long_key = u64(1) + u64(kMaxKeyBytes + 1);
  for (const std::string code :
       {"\x01", "\x02", "\x03", "\x04", "\x08", "\x09", "\x0e", "\x0f", "\x10", "\x12"}) {
    REQUIRE(!decode_modern(code + u64(kMaxKeyBytes)).error);
    REQUIRE(decode_modern(code + u64(kMaxKeyBytes + 1)).error == errc::key_too_long);
    REQUIRE(decode_modern(code + huge).error == errc::key_too_long);
    REQUIRE(decode_modern(code + negative).error == errc::key_too_long);
  }
  const std::vector<std::string> up_to_a_value = {"\x01" + key_field,
                                                  "\x02" + key_field,
                                                  "\x02" + key_field + value_field,
                                                  "\x09" + key_field,
                                                  "\x0e" + key_field,
                                                  "\x0b" + u64(1) + key_field};
  for (const std::string& before : up_to_a_value) {
    REQUIRE(!decode_modern(before + u64(kMaxValueBytes)).error);
    REQUIRE(decode_modern(before + u64(kMaxValueBytes + 1)).error == errc::value_too_long);
    REQUIRE(decode_modern(before + negative).error == errc::value_too_long);
  }
  for (const std::string code : {"\x05", "\x06", "\x0a", "\x0b"}) {
    REQUIRE(!decode_modern(code + u64(kMaxKeys)).error);
    REQUIRE(decode_modern(code + u64(kMaxKeys + 1)).error == errc::too_many_keys);
    REQUIRE(decode_modern(code + negative).error == errc::too_many_keys);
    REQUIRE(decode_modern(code + long_key).error == errc::key_too_long);
  }
}

TEST_CASE("the keys of one request are limited together", "[store][codec]") {
  const std::string key = u64(kMaxKeyBytes) + std::string(kMaxKeyBytes, 'k');
  Decoder decoder(Legacy::refused);
  REQUIRE(!decode(decoder, handshake + "\x06" + u64(kMaxKeys)).error);
  for (std::size_t sum = 0; sum < kMaxKeyListBytes; sum += kMaxKeyBytes) {
    REQUIRE(!decode(decoder, key).error);
  }
  REQUIRE(decode(decoder, u64(1)).error == errc::key_list_too_long);
}

TEST_CASE("memory grows with what came in and not with what was announced", "[store][codec]") {
  for (const std::string& announcement : {"\x01" + key_field + u64(kMaxValueBytes),
                                          "\x03" + u64(kMaxKeyBytes),
                                          "\x06" + u64(kMaxKeys),
                                          "\x0b" + u64(kMaxKeys)}) {
    Decoder decoder(Legacy::refused);
    const std::string bytes = handshake + announcement;
    auto input = std::as_bytes(std::span(bytes));
    const std::size_t before = test::allocated_bytes();
    const auto command = decoder.next(input);
    REQUIRE(command.has_value());
    REQUIRE(test::allocated_bytes() == before);
  }
  Decoder decoder(Legacy::refused);
  decode(decoder, handshake + "\x01" + key_field + u64(kMaxValueBytes));
  const std::size_t before = test::allocated_bytes();
  constexpr std::size_t kReceived = 100'000;
  const std::byte byte{0x61};
  for (std::size_t i = 0; i < kReceived; ++i) {
    std::span<const std::byte> input(&byte, 1);
    static_cast<void>(decoder.next(input));
  }
  REQUIRE(test::allocated_bytes() - before <
          6 * kReceived);  // so it was not copied at each byte either
}

TEST_CASE("replies are encoded", "[store][codec]") {
  REQUIRE(encoded(std::monostate()).empty());
  REQUIRE(encoded(Flag{1}) == from_hex("01"));
  REQUIRE(encoded(Number{-2}) == minus_two);
  REQUIRE(encoded(Nonce{0x12345678}) == from_hex("78563412"));
  REQUIRE(encoded(value_of("v1")) == value_field);
  REQUIRE(encoded(Value()) == u64(0));
  REQUIRE(encoded(std::vector<Value>{value_of("v1"), nullptr, value_of("v1")}) ==
          value_field + u64(0) + value_field);
  REQUIRE(encoded(Popped{2, value_of("v1")}) == u64(2) + value_field);
  REQUIRE(encoded(Popped{}) == u64(0));
  const std::string key = "/k";
  REQUIRE(encoded(KeyList{{&key, &key}}) == u64(2) + key_field + key_field);
  REQUIRE(encoded(KeyList{}) == u64(0));
}

}  // namespace rankrun::store
