// SPDX-License-Identifier: Apache-2.0
#include "store/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rankrun::base {

namespace {

// How many bytes the character at the start of `text` has; 0 for one that must be escaped: control
// characters, those of the second set (U+0080 to U+009F) included, and what is no UTF-8.
std::size_t shown_size(std::string_view text) {
  const auto byte_at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte_at(0);
  if (first < 0x80) return (first < 0x20 && first != '\t') || first == 0x7f ? 0 : 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte_at(i) & 0xc0) != 0x80) return 0;
  }
  return first == 0xc2 && byte_at(1) < 0xa0 ? 0 : size;
}

}  // namespace

std::string escape_control(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const std::size_t size = shown_size(text);
    if (size == 0) {
      const auto byte = static_cast<unsigned char>(text.front());
      fmt::format_to(std::back_inserter(escaped), "\\x{:02x}", byte);
    } else {
      escaped += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return escaped;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace rankrun::base
