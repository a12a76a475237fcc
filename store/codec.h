// SPDX-License-Identifier: Apache-2.0
// Bytes <-> commands and replies of the c10d store protocol (PROTOCOL.md). Pure: no socket, no
// clock.
#pragma once

#include "store/command.h"
#include "store/errc.h"
#include "store/output.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace rankrun::store {

/// Which table of codes a client uses: PyTorch 2.2 and later, or 1.13 to 2.1.
enum class Dialect : std::uint8_t { modern, legacy };

/// Whether legacy clients are served; they have no magic number.
enum class Legacy : std::uint8_t { refused, accepted };

/// Decodes what one connection sends, however it is fragmented, at a cost linear in its bytes.
/// Tells the dialect from the first bytes. Checks every announced length before it allocates; what
/// it holds is in proportion to the bytes received of the request it is in, never to what was
/// announced. Its buffers are used again, so most requests allocate nothing.
class Decoder {
 public:
  explicit Decoder(Legacy legacy) : legacy_(legacy) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Takes bytes from the front of `input` until a command is complete; null when all of them are
  /// taken and none is. The command is the caller's to change and ends with the next call. After an
  /// error the decoder must not be used again.
  [[nodiscard]] tl::expected<Command*, errc> next(std::span<const std::byte>& input);

  /// Whether the request so far is a whole DELETE_KEY of PyTorch 1.13 and also the beginning of an
  /// APPEND of 2.1, which share a code. If no byte follows soon, it is the former.
  bool undecided() const;
  /// Makes a DELETE_KEY of it; as next().
  Command* decide();

  /// Known once the first bytes have told it.
  std::optional<Dialect> dialect() const { return dialect_; }
  /// Whether this legacy client has sent what only PyTorch 2.1 does.
  bool proved_2_1() const { return proved_2_1_; }

  /// Complete requests so far. The opening VALIDATE is none; a MULTI_SET is one.
  std::uint64_t requests() const { return requests_; }

 private:
  /// What the next byte is part of.
  enum class State : std::uint8_t { first_byte, magic, code, number, blob };
  /// An argument of a request, as it lies on the wire.
  enum class Field : std::uint8_t { none, key, expected, value, number, nonce, keys, pairs };
  /// True when command_ is complete.
  using Step = tl::expected<bool, errc>;

  static const Field* fields_of(Operation operation);

  void reset();
  Command* complete();
  Step advance(std::span<const std::byte>& input);
  std::optional<std::uint64_t> take_number(std::span<const std::byte>& input);
  Step take_blob(std::span<const std::byte>& input);
  std::size_t number_width() const;

  Step on_first_byte(std::uint8_t code);
  Step on_magic(std::uint32_t magic);
  Step on_code(std::uint8_t code);
  Step on_number(std::uint64_t number);
  Step on_count(std::uint64_t count);
  Step on_list_key(std::uint64_t length);
  Step on_value(std::string& value, std::uint64_t length);

  void begin(Operation operation);
  Step begin_blob(std::string& target, std::uint64_t length);
  Step end_blob();
  Step end_field();

  Legacy legacy_;
  State state_ = State::first_byte;
  bool proved_2_1_ = false;
  bool is_complete_ = false;  // command_ was handed out
  bool in_list_ = false;      // its count is known, keys follow
  std::optional<Dialect> dialect_;
  std::uint64_t requests_ = 0;

  std::uint64_t number_ = 0;      // the number being read
  std::size_t number_bytes_ = 0;  // how many of its bytes are in
  std::string* blob_ = nullptr;   // the member of command_ being filled
  std::size_t blob_left_ = 0;

  Command command_;               // the request being read
  const Field* field_ = nullptr;  // which of its arguments; Field::none after the last
  std::size_t keys_left_ = 0;     // of the list being read
  std::size_t pairs_left_ = 0;    // SETs that belong to one MULTI_SET
};

/// Appends `reply` as it goes over the wire; all dialects answer alike.
void encode(const Reply& reply, Output& output);

}  // namespace rankrun::store
