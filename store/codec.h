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

/// Which table of codes a client uses: PyTorch 2.2 and later, or 1.13 and 2.0.
enum class Dialect : std::uint8_t { modern, legacy };

/// Whether legacy clients are served; they have no magic number.
enum class Legacy : std::uint8_t { refused, accepted };

/// Decodes what one connection sends, however it is fragmented, at a cost linear in its bytes.
/// Tells the dialect from the first bytes. Checks every announced length before it allocates; what
/// it holds is in proportion to the bytes received of the request it is in, never to what was
/// announced.
class Decoder {
 public:
  explicit Decoder(Legacy legacy) : legacy_(legacy) {}

  /// Takes bytes from the front of `input` until a command is complete; nullopt when all of them
  /// are taken and none is. After an error the decoder must not be used again.
  [[nodiscard]] tl::expected<std::optional<Command>, errc> next(std::span<const std::byte>& input);

  /// Known once the first bytes have told it.
  std::optional<Dialect> dialect() const { return dialect_; }

  /// Complete requests so far. The opening VALIDATE is none; a MULTI_SET is one.
  std::uint64_t requests() const { return requests_; }

 private:
  /// What the next byte is part of.
  enum class State : std::uint8_t { first_byte, magic, code, number, blob };
  /// An argument of a request, as it lies on the wire.
  enum class Field : std::uint8_t { none, key, expected, value, number, nonce, keys, pairs };
  struct Layout;
  /// True when command_ is complete.
  using Step = tl::expected<bool, errc>;

  static Layout layout_of(Operation operation);

  Command take_command();
  Step advance(std::span<const std::byte>& input);
  std::optional<std::uint64_t> take_number(std::span<const std::byte>& input);
  Step take_blob(std::span<const std::byte>& input);
  std::size_t number_width() const;
  Field field() const;

  Step on_first_byte(std::uint8_t code);
  Step on_magic(std::uint32_t magic);
  Step on_code(std::uint8_t code);
  Step on_number(std::uint64_t number);
  Step on_count(std::uint64_t count);
  Step on_list_key(std::uint64_t length);

  void begin(Operation operation);
  Step begin_blob(std::string& target, std::uint64_t length);
  Step end_blob();
  Step end_field();

  Legacy legacy_;
  std::optional<Dialect> dialect_;
  std::uint64_t requests_ = 0;

  State state_ = State::first_byte;
  std::uint64_t number_ = 0;      // the number being read
  std::size_t number_bytes_ = 0;  // how many of its bytes are in
  std::string* blob_ = nullptr;   // the member of command_ being filled
  std::size_t blob_left_ = 0;

  Command command_;             // the request being read
  std::size_t field_ = 0;       // index into its layout
  bool in_list_ = false;        // its count is known, keys follow
  std::size_t keys_left_ = 0;   // of that list
  std::size_t list_bytes_ = 0;  // sum of the keys of that list
  std::size_t pairs_left_ = 0;  // SETs that belong to one MULTI_SET
};

/// Appends `reply` as it goes over the wire; both dialects answer alike.
void encode(const Reply& reply, Output& output);

}  // namespace rankrun::store
