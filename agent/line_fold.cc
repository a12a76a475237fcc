// SPDX-License-Identifier: Apache-2.0
#include "agent/line_fold.h"

#include <algorithm>
#include <utility>

namespace rankrun::agent {

namespace {

std::size_t weight(std::string_view line) {
  return std::max(line.size(), LineFold::kLeastLineBytes);
}

}  // namespace

void LineFold::open(SourceId source) {
  sources_.try_emplace(source);
}

void LineFold::close(SourceId source) {
  const auto place = sources_.find(source);
  if (place == sources_.end()) return;
  due_through_ = std::max(due_through_, place->second.last);
  sources_.erase(place);
}

void LineFold::add(SourceId source, std::string_view text, base::TimePoint now) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    add_line(source, text.substr(0, end), now);
    text.remove_prefix(end);
  }
}

void LineFold::add_line(SourceId source, std::string_view line, base::TimePoint now) {
  Source& from = sources_[source];
  const bool was_in_line = std::exchange(from.in_line, line.back() != '\n');
  const bool is_whole = !was_in_line && !from.in_line;
  const Place same = is_whole ? find(line, from.last) : 0;
  if (same != 0) {
    held_[same - first_].line.sources.push_back(source);
    from.last = same;
    return;
  }
  held_.push_back(Held{{std::string(line), {source}}, now});
  bytes_ += weight(line);
  from.last = first_ + held_.size() - 1;
  if (is_whole) {
    by_text_.emplace(held_.back().line.text, from.last);
  } else {
    due_through_ = from.last;
  }
}

// The first held line of that text after a place; 0: none.
LineFold::Place LineFold::find(std::string_view line, Place after) const {
  Place found = 0;
  const auto [begin, end] = by_text_.equal_range(line);
  for (auto entry = begin; entry != end; ++entry) {
    const Place place = entry->second;
    if (place > after && (found == 0 || place < found)) found = place;
  }
  return found;
}

std::optional<LineFold::Line> LineFold::take(base::TimePoint now) {
  if (held_.empty()) return std::nullopt;
  Held& held = held_.front();
  const bool is_due = first_ <= due_through_ || held.line.sources.size() >= sources_.size() ||
                      now - held.since >= kWindow || bytes_ > kMostBytes;
  if (!is_due) return std::nullopt;
  const auto [begin, end] = by_text_.equal_range(held.line.text);
  const auto entry = std::find_if(begin, end, [&](const auto& e) { return e.second == first_; });
  if (entry != end) by_text_.erase(entry);
  bytes_ -= weight(held.line.text);
  Line line = std::move(held.line);
  held_.pop_front();
  ++first_;
  return line;
}

std::optional<base::TimePoint> LineFold::next_due() const {
  if (held_.empty()) return std::nullopt;
  return held_.front().since + kWindow;
}

}  // namespace rankrun::agent
