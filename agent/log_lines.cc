// SPDX-License-Identifier: Apache-2.0
#include "agent/log_lines.h"

#include <algorithm>
#include <utility>

namespace rankrun::agent {

std::string LineSplitter::add(std::string_view bytes) {
  const std::size_t end = bytes.find_last_of("\r\n");
  if (end == std::string_view::npos) {
    rest_ += bytes;
    return rest_.size() >= kLongestLine ? take_rest() : std::string();
  }
  std::string lines = std::exchange(rest_, std::string(bytes.substr(end + 1)));
  lines += bytes.substr(0, end + 1);
  return lines;
}

std::string LineSplitter::take_rest() {
  return std::exchange(rest_, {});
}

void LineTail::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    extend_line(bytes.substr(0, end));
    if (end < bytes.size() && bytes[end] == '\n') lines_.emplace_back();
    returned_ = end < bytes.size() && bytes[end] == '\r';
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
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
    bytes_ -= lines_.front().size();
    lines_.pop_front();
  }
}

std::vector<std::string> LineTail::lines() const {
  std::vector<std::string> all(lines_.begin(), lines_.end());
  if (all.back().empty()) all.pop_back();
  return all;
}

}  // namespace rankrun::agent
