// SPDX-License-Identifier: Apache-2.0
#include "store/output.h"

#include <algorithm>
#include <utility>

namespace rankrun::store {
namespace {

/// An idle client keeps no more room than this many pieces.
constexpr std::size_t kPiecesKept = 16;

}  // namespace

void Output::append(std::string_view bytes) {
  if (bytes.empty()) return;
  if (pieces() == 0 || pieces_.back().shared) pieces_.emplace_back();
  pieces_.back().copied.append(bytes);
  bytes_ += bytes.size();
}

void Output::append(Value value) {
  if (!value) return;
  if (value->size() < kReferenceFrom) {
    append(std::string_view(*value));
    return;
  }
  bytes_ += value->size();
  pieces_.emplace_back().shared = std::move(value);
}

std::size_t Output::gather(std::span<std::string_view> views) const {
  const std::size_t count = std::min(views.size(), pieces());
  for (std::size_t i = 0; i < count; ++i) {
    views[i] = pieces_[first_ + i].view();
  }
  if (count > 0) views[0].remove_prefix(offset_);
  return count;
}

void Output::consume(std::size_t count) {
  bytes_ -= count;
  offset_ += count;
  while (first_ < pieces_.size() && offset_ >= pieces_[first_].view().size()) {
    offset_ -= pieces_[first_].view().size();
    pieces_[first_++] = Piece();  // lets go of the value at once
  }
  // Moving what is left costs no more than what was removed before it.
  if (first_ * 2 < pieces_.size()) return;
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
  if (pieces_.empty() && pieces_.capacity() > kPiecesKept) pieces_ = {};
}

}  // namespace rankrun::store
