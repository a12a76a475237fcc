// SPDX-License-Identifier: Apache-2.0
#include "agent/log_lines.h"

#include <algorithm>

namespace rankrun::agent {

namespace {

// How much of a text is whole lines or former states of a progress bar. A carriage return belongs
// to what it precedes: only what comes next tells a new state from the end of a line.
std::size_t whole_size(std::string_view text) {
  const std::size_t lines = text.rfind('\n') + 1;  // npos + 1 is 0
  const std::string_view rest = text.substr(lines);
  for (std::size_t at = rest.rfind('\r'); at != std::string_view::npos && at > 0;
       at = rest.rfind('\r', at - 1)) {
    if (at + 1 < rest.size() && rest[at + 1] != '\r') return lines + at;
  }
  return lines;
}

// Where the last `count` lines of a text begin; npos when there are no more than that.
std::size_t last_lines_begin(std::string_view text, std::size_t count) {
  std::size_t end = text.size();
  for (std::size_t i = 0; i <= count; ++i) {
    if (end == 0) return std::string_view::npos;
    end = text.rfind('\n', end - 1);
    if (end == std::string_view::npos) return end;
  }
  return end + 1;
}

}  // namespace

std::array<std::string_view, 2> LineSplitter::add(std::string_view bytes) {
  if (bytes.empty()) return {};
  const bool returns = has_rest() && (rest_.back() == '\r' || bytes.front() == '\r');
  const std::size_t whole = returns ? 0 : whole_size(bytes);
  if (whole > 0) {
    const std::size_t held_end = has_rest() ? std::min(bytes.find('\n'), whole - 1) + 1 : 0;
    rest_ += bytes.substr(0, held_end);
    const std::string_view held = take_rest();
    rest_ = bytes.substr(whole);
    return {held, bytes.substr(held_end, whole - held_end)};
  }
  rest_ += bytes;
  const std::size_t ready = returns ? whole_size(rest_) : 0;
  if (ready > 0) {
    ready_.assign(rest_, 0, ready);
    rest_.erase(0, ready);
    return {ready_, {}};
  }
  if (rest_.size() < kLongestLine) return {};
  return {take_rest(), {}};
}

std::string_view LineSplitter::take_rest() {
  ready_.swap(rest_);
  rest_.clear();
  return ready_;
}

void LineTail::add(std::string_view bytes) {
  const std::size_t last = last_lines_begin(bytes, kMostLines);
  if (last != std::string_view::npos) {  // nothing before counts, so it need not be looked at
    lines_ = {""};
    bytes_ = 0;
    returned_ = false;
    bytes.remove_prefix(last);
  }
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    extend_line(bytes.substr(0, end));
    if (end < bytes.size() && bytes[end] == '\n') start_line();
    returned_ = end < bytes.size() && bytes[end] == '\r';
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
}

void LineTail::start_line() {
  if (lines_.size() > kMostLines) drop_first();  // extend_line() knows nothing of empty lines
  lines_.emplace_back();
}

void LineTail::extend_line(std::string_view bytes) {
  if (bytes.empty()) return;
  std::string& line = lines_.back();
  bytes_ -= line.size();
  if (returned_) line.clear();
  line += bytes;
  if (line.size() > kMostBytes) line.erase(0, line.size() - kMostBytes);
  bytes_ += line.size();
  while (lines_.size() > kMostLines || bytes_ > kMostBytes) {
    drop_first();
  }
}

void LineTail::drop_first() {
  bytes_ -= lines_.front().size();
  lines_.pop_front();
}

std::vector<std::string> LineTail::lines() const {
  std::vector<std::string> all(lines_.begin(), lines_.end());
  if (all.back().empty()) all.pop_back();
  return all;
}

}  // namespace rankrun::agent
