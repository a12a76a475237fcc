// SPDX-License-Identifier: Apache-2.0
#include "store/output.h"

#include <algorithm>
#include <utility>

namespace rankrun::store {
namespace {

/// An idle client keeps no more room than this.
constexpr std::size_t kBytesKept = 512;
constexpr std::size_t kReferencesKept = 4;

}  // namespace

void Output::append(std::string_view bytes) {
  copied_ += bytes;
  bytes_ += bytes.size();
}

void Output::append(const Value& value) {
  if (!value || value->empty()) return;
  if (value->size() < kReferenceFrom && copied_.size() < kMostCopied) {
    append(std::string_view(*value));
    return;
  }
  references_.push_back({copied_.size(), value});
  bytes_ += value->size();
}

std::size_t Output::gather(std::span<std::string_view> views) const {
  std::size_t count = 0;
  std::size_t at = copied_done_;
  std::size_t skip = reference_done_;
  const auto add = [&](std::string_view bytes) {
    if (!bytes.empty() && count < views.size()) views[count++] = bytes;
  };
  const std::string_view copied = copied_;
  for (std::size_t i = first_; i < references_.size() && count < views.size(); ++i) {
    const auto& [after, value] = references_[i];
    add(copied.substr(at, after - at));
    add(std::string_view(*value).substr(std::exchange(skip, 0)));
    at = after;
  }
  add(copied.substr(at));
  return count;
}

void Output::consume(std::size_t count) {
  bytes_ -= count;
  while (count > 0) {
    const bool has_reference = first_ < references_.size();
    const std::size_t copied_end = has_reference ? references_[first_].after : copied_.size();
    const std::size_t copied = std::min(count, copied_end - copied_done_);
    copied_done_ += copied;
    count -= copied;
    if (!has_reference || copied_done_ < copied_end) continue;
    Value& value = references_[first_].value;
    const std::size_t referenced = std::min(count, value->size() - reference_done_);
    reference_done_ += referenced;
    count -= referenced;
    if (reference_done_ < value->size()) continue;
    value.reset();  // lets go of it at once
    reference_done_ = 0;
    ++first_;
  }
  if (bytes_ > 0) return;
  copied_.clear();
  references_.clear();
  first_ = copied_done_ = 0;
  if (copied_.capacity() > kBytesKept) copied_ = {};
  if (references_.capacity() > kReferencesKept) references_ = {};
}

}  // namespace rankrun::store
