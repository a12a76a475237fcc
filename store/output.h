// SPDX-License-Identifier: Apache-2.0
// Bytes on their way to one client: a queue that copies what is small and references what is large.
#pragma once

#include "store/command.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::store {

/// First in, first out. Pure; belongs to one session.
class Output {
 public:
  /// Values from this size on are referenced: below it, a copy is cheaper than a piece of its own.
  static constexpr std::size_t kReferenceFrom = 4096;

  void append(std::string_view bytes);
  void append(Value value);

  bool empty() const { return bytes_ == 0; }
  std::size_t bytes() const { return bytes_; }
  std::size_t pieces() const { return pieces_.size() - first_; }

  /// Fills `views` with the bytes at the front, in order; returns how many views were set. They
  /// stay valid until the next append or consume.
  std::size_t gather(std::span<std::string_view> views) const;

  /// Removes `count` bytes, at most bytes(), from the front.
  void consume(std::size_t count);

 private:
  struct Piece {
    std::string copied;
    Value shared;  // null: the bytes are in `copied`

    std::string_view view() const { return shared ? std::string_view(*shared) : copied; }
  };

  std::vector<Piece> pieces_;  // none is empty
  std::size_t first_ = 0;      // pieces before this one are done
  std::size_t offset_ = 0;     // bytes of the first piece that are done
  std::size_t bytes_ = 0;
};

}  // namespace rankrun::store
