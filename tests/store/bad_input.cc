// SPDX-License-Identifier: Apache-2.0
#include "tests/store/bad_input.h"

#include "store/command.h"
#include "tests/store/requests.h"

#include <cstdint>

namespace rankrun::store::test {
namespace {

constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;
constexpr std::uint64_t kNegative = ~std::uint64_t{0};

std::string at(const std::string& code, std::uint64_t number) {
  return " at " + to_hex(code) + ": " + std::to_string(number);
}

void add_strangers(std::vector<BadInput>& all) {
  all.push_back(
      {"an HTTP request", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", errc::unknown_protocol, {}});
  all.push_back({"a TLS hello", from_hex("1603010200010001fc0303"), errc::unknown_protocol, {}});
  all.push_back({"another magic number", from_hex("00deadbeef"), errc::bad_magic, {}});
  all.push_back({"half a length of 8193", from_hex("0001200000"), errc::bad_magic, {}});
  for (const char* code : {"0c", "13", "80", "ff"}) {
    all.push_back({std::string("first byte ") + code, from_hex(code), errc::unknown_protocol, {}});
  }
}

void add_codes(std::vector<BadInput>& all) {
  for (const char* code : {"13", "7f", "ff"}) {
    all.push_back(
        {std::string("modern ") + code, handshake + from_hex(code), errc::unknown_code, {}});
  }
  for (const char* code : {"0c", "12", "ff"}) {
    all.push_back({std::string("legacy ") + code,
                   from_hex("06") + from_hex(code),
                   errc::unknown_code,
                   u64(0)});
  }
  all.push_back({"two handshakes", handshake + handshake, errc::repeated_handshake, {}});
}

void add_lengths(std::vector<BadInput>& all) {
  for (const char* text : {"01", "02", "03", "04", "08", "09", "0e", "0f", "10", "12"}) {
    const std::string code = from_hex(text);
    for (const std::uint64_t length : {std::uint64_t{kMaxKeyBytes + 1}, kHuge, kNegative}) {
      all.push_back(
          {"key" + at(code, length), handshake + code + u64(length), errc::key_too_long, {}});
    }
  }
  const std::string key = blob("/k");
  for (const std::string& before : {"\x01" + key,
                                    "\x02" + key,
                                    "\x02" + key + blob("v"),
                                    "\x09" + key,
                                    "\x0b" + u64(1) + key,
                                    "\x0e" + key}) {
    for (const std::uint64_t length : {std::uint64_t{kMaxValueBytes + 1}, kHuge, kNegative}) {
      all.push_back({"value" + at(before.substr(0, 1), length),
                     handshake + before + u64(length),
                     errc::value_too_long,
                     {}});
    }
  }
}

void add_counts(std::vector<BadInput>& all) {
  for (const std::string code : {"\x05", "\x06", "\x0a", "\x0b"}) {
    for (const std::uint64_t count : {std::uint64_t{kMaxKeys + 1}, kHuge, kNegative}) {
      all.push_back(
          {"count" + at(code, count), handshake + code + u64(count), errc::too_many_keys, {}});
    }
    all.push_back({"key in the list" + at(code, kHuge),
                   handshake + code + u64(1) + u64(kHuge),
                   errc::key_too_long,
                   {}});
  }
}

void add_texts(std::vector<BadInput>& all) {
  for (const char* text : {"", "abc", "9223372036854775808"}) {
    const std::string before = handshake + set("/k", text) + get("/k");
    all.push_back({std::string("ADD on '") + text + "'",
                   before + add("/k", 1),
                   errc::not_a_number,
                   blob(text)});
    all.push_back({std::string("BARRIER on '") + text + "'",
                   before + "\x12" + blob("/k") + u64(2),
                   errc::not_a_number,
                   blob(text)});
  }
}

}  // namespace

std::vector<BadInput> bad_inputs() {
  std::vector<BadInput> all;
  add_strangers(all);
  add_codes(all);
  add_lengths(all);
  add_counts(all);
  add_texts(all);
  return all;
}

}  // namespace rankrun::store::test
