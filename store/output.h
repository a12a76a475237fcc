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
  /// Values from this size on are referenced: below it, a copy is cheaper.
  static constexpr std::size_t kReferenceFrom = 1024;
  /// With more than this copied and not taken yet, smaller values are referenced, too.
  static constexpr std::size_t kMostCopied = std::size_t{64} << 10;

  void append(std::string_view bytes);
  void append(const Value& value);

  bool empty() const { return bytes_ == 0; }
  std::size_t bytes() const { return bytes_; }
  std::size_t references() const { return references_.size() - first_; }

  /// Fills `views` with the bytes at the front, in order; returns how many views were set. They
  /// stay valid until the next append or consume.
  std::size_t gather(std::span<std::string_view> views) const;

  /// Removes `count` bytes, at most bytes(), from the front.
  void consume(std::size_t count);

 private:
  /// A value that comes after the first `after` bytes of copied_.
  struct Reference {
    std::size_t after = 0;
    Value value;
  };

  std::string copied_;                 // end to end, without the referenced values
  std::vector<Reference> references_;  // in order; those before first_ are done
  std::size_t first_ = 0;
  std::size_t copied_done_ = 0;     // bytes of copied_ that are done
  std::size_t reference_done_ = 0;  // bytes of the first reference that are done
  std::size_t bytes_ = 0;
};

}  // namespace rankrun::store
