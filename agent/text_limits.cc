// SPDX-License-Identifier: Apache-2.0
#include "agent/text_limits.h"

#include "store/base/text.h"

#include <algorithm>

namespace rankrun::agent {

namespace {

constexpr std::string_view kCut = "...";
constexpr int kMostInside = 3;  // of a character's bytes come after its first

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// At most `limit` bytes, from the start of a character.
std::string_view end_of(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t start = text.size() - limit;
  for (int i = 0; i < kMostInside && start < text.size() && is_inside_character(text[start]); ++i) {
    ++start;
  }
  return text.substr(start);
}

}  // namespace

std::string start_of(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::size_t size = limit - kCut.size();
  for (int i = 0; i < kMostInside && size > 0 && is_inside_character(text[size]); ++i) {
    --size;
  }
  return std::string(text.substr(0, size)).append(kCut);
}

std::string last_lines_of(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  const std::string_view end = end_of(text, limit);
  const std::size_t newline = end.find('\n');
  const bool has_whole_line = newline != std::string_view::npos && newline + 1 < end.size();
  return std::string(has_whole_line ? end.substr(newline + 1) : end);
}

std::vector<std::string> shown_lines(const std::vector<std::string>& lines, std::size_t limit) {
  std::vector<std::string> shown;
  std::size_t left = limit;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    std::string text = base::escape_control(*line);
    const bool fits = text.size() < left;
    if (!fits && shown.empty()) shown.emplace_back(end_of(text, limit));
    if (!fits) shown.emplace_back(kCut);
    if (!fits) break;
    left -= text.size() + 1;
    shown.push_back(std::move(text));
  }
  std::reverse(shown.begin(), shown.end());
  return shown;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace rankrun::agent
