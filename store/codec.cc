// SPDX-License-Identifier: Apache-2.0
#include "store/codec.h"

#include "store/base/assert.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rankrun::store {
namespace {

constexpr std::uint32_t kMagic = 0x3C85F7CE;

// The tables of codes: the index is the code on the wire.
constexpr std::array kModernCodes = {Operation::validate,
                                     Operation::set,
                                     Operation::compare_set,
                                     Operation::get,
                                     Operation::add,
                                     Operation::check,
                                     Operation::wait,
                                     Operation::num_keys,
                                     Operation::delete_key,
                                     Operation::append,
                                     Operation::multi_get,
                                     Operation::multi_set,
                                     Operation::cancel_wait,
                                     Operation::ping,
                                     Operation::queue_push,
                                     Operation::queue_pop,
                                     Operation::queue_len,
                                     Operation::list_keys,
                                     Operation::barrier};
// That of PyTorch 2.1. 1.13 and 2.0 know no code above 08, which is their DELETE_KEY: see
// undecided(). Their 07, WATCH_KEY, is one that no Python build of theirs can send.
constexpr std::array kLegacyCodes = {Operation::set,
                                     Operation::compare_set,
                                     Operation::get,
                                     Operation::add,
                                     Operation::check,
                                     Operation::wait,
                                     Operation::num_keys,
                                     Operation::delete_key,
                                     Operation::append,
                                     Operation::multi_get,
                                     Operation::multi_set,
                                     Operation::cancel_wait};
constexpr std::uint8_t kFirstCodeOf21 = 9;

// Buffers up to this size are kept for the next request of their connection.
constexpr std::size_t kBytesKept = 1024;

template <typename Buffer>
void clear(Buffer& buffer) {
  buffer.clear();
  if (buffer.capacity() > kBytesKept / sizeof(typename Buffer::value_type)) buffer = Buffer();
}

std::optional<Operation> operation_of(Dialect dialect, std::uint8_t code) {
  const std::span<const Operation> codes =
      dialect == Dialect::modern ? std::span<const Operation>(kModernCodes) : kLegacyCodes;
  if (code >= codes.size()) return std::nullopt;
  return codes[code];
}

}  // namespace

const Decoder::Field* Decoder::fields_of(Operation operation) {
  using enum Field;
  using Fields = std::array<Field, 4>;
  static constexpr Fields kNothing = {none};
  static constexpr Fields kKey = {key, none};
  static constexpr Fields kKeyAndValue = {key, value, none};
  static constexpr Fields kComparison = {key, expected, value, none};
  static constexpr Fields kKeyAndNumber = {key, number, none};
  static constexpr Fields kKeys = {keys, none};
  static constexpr Fields kPairs = {pairs, none};
  static constexpr Fields kNonce = {nonce, none};
  switch (operation) {
    case Operation::validate:
    case Operation::num_keys:
    case Operation::cancel_wait:
    case Operation::list_keys:
      return kNothing.data();
    case Operation::get:
    case Operation::delete_key:
    case Operation::queue_pop:
    case Operation::queue_len:
      return kKey.data();
    case Operation::set:
    case Operation::append:
    case Operation::queue_push:
      return kKeyAndValue.data();
    case Operation::compare_set:
      return kComparison.data();
    case Operation::add:
    case Operation::barrier:
      return kKeyAndNumber.data();
    case Operation::check:
    case Operation::wait:
    case Operation::multi_get:
      return kKeys.data();
    case Operation::multi_set:
      return kPairs.data();
    case Operation::ping:
      return kNonce.data();
  }
  return kNothing.data();
}

tl::expected<Command*, errc> Decoder::next(std::span<const std::byte>& input) {
  if (is_complete_) reset();
  while (!input.empty()) {
    const Step step = advance(input);
    if (!step) return tl::unexpected(step.error());
    if (*step) return complete();
  }
  return nullptr;
}

bool Decoder::undecided() const {
  return dialect_ == Dialect::legacy && !proved_2_1_ && state_ == State::number &&
         number_bytes_ == 0 && command_.operation == Operation::append && *field_ == Field::value;
}

Command* Decoder::decide() {
  RANKRUN_ASSERT(undecided());
  command_.operation = Operation::delete_key;
  return complete();
}

/// Forgets the command that was handed out.
void Decoder::reset() {
  is_complete_ = false;
  for (std::string* text :
       {&command_.key, &command_.expected, &command_.value, &command_.keys.bytes}) {
    clear(*text);
  }
  clear(command_.keys.ends);
  // The SETs that follow a MULTI_SET have no code of their own.
  if (pairs_left_ > 0) begin(Operation::set);
}

Command* Decoder::complete() {
  is_complete_ = true;
  if (command_.operation == Operation::multi_set) {
    pairs_left_ = static_cast<std::size_t>(command_.number);
  } else if (pairs_left_ > 0) {
    --pairs_left_;
  }
  if (pairs_left_ == 0) {
    state_ = State::code;
    ++requests_;
  }
  return &command_;
}

Decoder::Step Decoder::advance(std::span<const std::byte>& input) {
  if (state_ == State::blob) return take_blob(input);
  const auto number = take_number(input);
  if (!number) return false;
  switch (state_) {
    case State::first_byte:
      return on_first_byte(static_cast<std::uint8_t>(*number));
    case State::magic:
      return on_magic(static_cast<std::uint32_t>(*number));
    case State::code:
      return on_code(static_cast<std::uint8_t>(*number));
    case State::number:
      return on_number(*number);
    case State::blob:
      break;
  }
  return false;
}

std::optional<std::uint64_t> Decoder::take_number(std::span<const std::byte>& input) {
  const std::size_t width = number_width();
  const std::size_t count = std::min(width - number_bytes_, input.size());
  for (const std::byte byte : input.first(count)) {
    number_ |= std::to_integer<std::uint64_t>(byte) << (8 * number_bytes_++);
  }
  input = input.subspan(count);
  if (number_bytes_ < width) return std::nullopt;
  number_bytes_ = 0;
  return std::exchange(number_, 0);
}

Decoder::Step Decoder::take_blob(std::span<const std::byte>& input) {
  const std::size_t count = std::min(blob_left_, input.size());
  const auto* const bytes = reinterpret_cast<const char*>(input.data());
  blob_->append(bytes, count);  // grows by doubling, so never past twice what came in
  input = input.subspan(count);
  blob_left_ -= count;
  if (blob_left_ > 0) return false;
  return end_blob();
}

std::size_t Decoder::number_width() const {
  switch (state_) {
    case State::first_byte:
    case State::code:
      return 1;
    case State::magic:
      return 4;
    case State::number:
      return *field_ == Field::nonce ? 4 : 8;
    case State::blob:
      break;
  }
  return 0;
}

Decoder::Step Decoder::on_first_byte(std::uint8_t code) {
  if (code == 0) {
    state_ = State::magic;
    return false;
  }
  if (!operation_of(Dialect::legacy, code)) return tl::unexpected(errc::unknown_protocol);
  if (legacy_ == Legacy::refused) return tl::unexpected(errc::legacy_refused);
  dialect_ = Dialect::legacy;
  return on_code(code);
}

Decoder::Step Decoder::on_magic(std::uint32_t magic) {
  if (magic == kMagic) {
    dialect_ = Dialect::modern;
    state_ = State::code;
    return false;
  }
  // Not the handshake, so 00 was a legacy SET and these are the low half of its key's length.
  if (magic > kMaxKeyBytes) return tl::unexpected(errc::bad_magic);
  if (legacy_ == Legacy::refused) return tl::unexpected(errc::legacy_refused);
  dialect_ = Dialect::legacy;
  begin(Operation::set);
  number_ = magic;
  number_bytes_ = sizeof magic;
  return false;
}

Decoder::Step Decoder::on_code(std::uint8_t code) {
  RANKRUN_ASSERT(dialect_);
  const auto operation = operation_of(*dialect_, code);
  if (!operation) return tl::unexpected(errc::unknown_code);
  if (*operation == Operation::validate) return tl::unexpected(errc::repeated_handshake);
  if (*dialect_ == Dialect::legacy && code >= kFirstCodeOf21) proved_2_1_ = true;
  begin(*operation);
  return *field_ == Field::none;
}

Decoder::Step Decoder::on_number(std::uint64_t number) {
  switch (*field_) {
    case Field::key:
      if (number > kMaxKeyBytes) return tl::unexpected(errc::key_too_long);
      return begin_blob(command_.key, number);
    case Field::expected:
      return on_value(command_.expected, number);
    case Field::value:
      if (*dialect_ == Dialect::legacy && command_.operation == Operation::append) {
        proved_2_1_ = true;
      }
      return on_value(command_.value, number);
    case Field::number:
    case Field::nonce:
      command_.number = static_cast<std::int64_t>(number);
      return end_field();
    case Field::keys:
      return in_list_ ? on_list_key(number) : on_count(number);
    case Field::pairs:
      return on_count(number);
    case Field::none:
      break;
  }
  return false;
}

Decoder::Step Decoder::on_value(std::string& value, std::uint64_t length) {
  if (length > kMaxValueBytes) return tl::unexpected(errc::value_too_long);
  return begin_blob(value, length);
}

Decoder::Step Decoder::on_count(std::uint64_t count) {
  // A negative count is a huge one here.
  if (count > kMaxKeys) return tl::unexpected(errc::too_many_keys);
  if (*field_ == Field::pairs) {
    command_.number = static_cast<std::int64_t>(count);
    return end_field();
  }
  if (count == 0) return end_field();
  in_list_ = true;
  keys_left_ = count;
  return false;
}

Decoder::Step Decoder::on_list_key(std::uint64_t length) {
  if (length > kMaxKeyBytes) return tl::unexpected(errc::key_too_long);
  std::string& bytes = command_.keys.bytes;
  if (bytes.size() + length > kMaxKeyListBytes) return tl::unexpected(errc::key_list_too_long);
  return begin_blob(bytes, length);
}

void Decoder::begin(Operation operation) {
  command_.operation = operation;
  command_.number = 0;
  field_ = fields_of(operation);
  state_ = State::number;
}

Decoder::Step Decoder::begin_blob(std::string& target, std::uint64_t length) {
  blob_ = &target;
  blob_left_ = length;
  if (length == 0) return end_blob();
  state_ = State::blob;
  return false;
}

Decoder::Step Decoder::end_blob() {
  blob_ = nullptr;
  state_ = State::number;
  if (in_list_) {
    command_.keys.end_key();
    if (--keys_left_ > 0) return false;
    in_list_ = false;
  }
  return end_field();
}

Decoder::Step Decoder::end_field() {
  ++field_;
  return *field_ == Field::none;
}

namespace {

/// Appends the `Integer` little-endian.
template <typename Integer>
void put(Integer number, Output& output) {
  auto bits = static_cast<std::make_unsigned_t<Integer>>(number);
  std::array<char, sizeof bits> bytes{};
  for (char& byte : bytes) {
    byte = static_cast<char>(bits & 0xff);
    if constexpr (sizeof bits > 1) bits >>= 8;
  }
  output.append(std::string_view(bytes.data(), bytes.size()));
}

void put_blob(const Value& value, Output& output) {
  put<std::uint64_t>(value ? value->size() : 0, output);
  output.append(value);
}

/// One overload for each kind of reply.
struct Encode {
  Output& output;

  void operator()(std::monostate) const {}
  void operator()(Flag flag) const { put(flag.code, output); }
  void operator()(Number number) const { put(number.number, output); }
  void operator()(Nonce nonce) const { put(nonce.nonce, output); }
  void operator()(const Value& value) const { put_blob(value, output); }
  void operator()(const std::vector<Value>& values) const {
    for (const Value& value : values) {
      put_blob(value, output);
    }
  }
  void operator()(const Popped& popped) const {
    put(popped.length_before, output);
    if (popped.length_before > 0) put_blob(popped.head, output);
  }
  void operator()(const KeyList& list) const {
    put<std::uint64_t>(list.keys.size(), output);
    for (const std::string* key : list.keys) {
      put<std::uint64_t>(key->size(), output);
      output.append(*key);
    }
  }
};

}  // namespace

void encode(const Reply& reply, Output& output) {
  std::visit(Encode{output}, reply);
}

}  // namespace rankrun::store
