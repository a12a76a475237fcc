// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/python_numbers.h"

#include "store/base/text.h"

#include <cctype>
#include <charconv>
#include <limits>
#include <string>

namespace rankrun::launch {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Text that std::from_chars reads as Python reads `text`. Nothing where an underscore is not
// between digits, or a sign is not alone.
std::optional<std::string> without_python_marks(std::string_view text) {
  text = base::trimmed(text);
  std::string plain;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    if (text[0] == '-') plain = "-";
    text.remove_prefix(1);
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) return std::nullopt;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return plain;
}

template <typename T>
std::optional<T> parse(std::string_view text) {
  const auto plain = without_python_marks(text);
  if (!plain) return std::nullopt;
  T value = 0;
  const char* const end_of_text = plain->data() + plain->size();
  const auto [end, error] = std::from_chars(plain->data(), end_of_text, value);
  if (end != end_of_text || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return value;
  return plain->front() == '-' ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
}

}  // namespace

std::optional<long> parse_python_integer(std::string_view text) {
  return parse<long>(text);
}

std::optional<double> parse_python_number(std::string_view text) {
  return parse<double>(text);
}

}  // namespace rankrun::launch
