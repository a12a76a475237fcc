// SPDX-License-Identifier: Apache-2.0
#include "agent/text_template.h"

#include <algorithm>
#include <cctype>

namespace rankrun::agent {

namespace {

std::size_t name_length(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) return 0;
  const auto end = std::find_if_not(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return static_cast<std::size_t>(end - text.begin());
}

// What stands at the beginning of a text, which begins with a dollar sign.
struct Macro {
  std::string_view typed;
  std::string_view name;  // empty: just the dollar sign
};

Macro macro_at(std::string_view text) {
  const bool is_braced = text.starts_with("${");
  const std::size_t begin = is_braced ? 2 : 1;
  const std::size_t length = name_length(text.substr(begin));
  const std::size_t end = begin + length;
  const bool is_macro = length > 0 && (!is_braced || text.substr(end).starts_with('}'));
  if (!is_macro) return {text.substr(0, 1), {}};
  return {text.substr(0, is_braced ? end + 1 : end), text.substr(begin, length)};
}

}  // namespace

std::string substitute(std::string_view text, const Lookup& value_of) {
  std::string result;
  for (;;) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    result += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) return result;
    if (text.starts_with("$$")) {
      result += '$';
      text.remove_prefix(2);
      continue;
    }
    const Macro macro = macro_at(text);
    const auto value = macro.name.empty() ? std::nullopt : value_of(macro.name);
    result += value ? std::string_view(*value) : macro.typed;
    text.remove_prefix(macro.typed.size());
  }
}

}  // namespace rankrun::agent
