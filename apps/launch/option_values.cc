// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/option_values.h"

#include "apps/launch/python_numbers.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankrun::launch {

using base::Result;

tl::unexpected<base::Error> invalid(const ParsedArguments& arguments,
                                    std::string_view option,
                                    std::string remedy) {
  return base::failure(base::errc::invalid_value,
                       arguments.source(option) + "=" + arguments.value(option).value_or(""),
                       std::move(remedy));
}

std::optional<std::string> non_empty(const ParsedArguments& arguments, std::string_view option) {
  auto value = arguments.value(option);
  if (value && value->empty()) return std::nullopt;
  return value;
}

Result<std::optional<int>> whole_number(const ParsedArguments& arguments,
                                        std::string_view option,
                                        int least,
                                        int most) {
  const auto given = arguments.value(option);
  if (!given) return std::optional<int>();
  const auto value = parse_python_integer(*given);
  if (value && *value >= least && *value <= most) return std::optional(static_cast<int>(*value));
  if (least == most) return invalid(arguments, option, fmt::format("use {}", least));
  std::string range = fmt::format("use a whole number from {}", least);
  const bool is_bounded = most != std::numeric_limits<int>::max() || value.value_or(0) > most;
  if (is_bounded) range += fmt::format(" to {}", most);
  return invalid(arguments, option, std::move(range));
}

Result<std::optional<base::Duration>> seconds(const ParsedArguments& arguments,
                                              std::string_view option) {
  constexpr double kMost = 1e9;  // decades; a clock's nanoseconds end after three centuries
  const auto given = arguments.value(option);
  if (!given) return std::optional<base::Duration>();
  const auto value = parse_python_number(*given);
  if (!value || !(*value >= 0 && *value <= kMost)) {
    return invalid(arguments, option, "use seconds from 0");
  }
  const std::chrono::duration<double> duration(*value);
  return std::optional(std::chrono::duration_cast<base::Duration>(duration));
}

Result<std::string> literal_word(const ParsedArguments& arguments,
                                 std::string_view option,
                                 std::string_view fallback) {
  const auto options = option_table();
  const auto entry = std::find_if(
      options.begin(), options.end(), [option](const Option& o) { return o.name == option; });
  const auto words = literal_words(*entry);
  std::string value = arguments.value(option).value_or(std::string(fallback));
  if (std::find(words.begin(), words.end(), value) != words.end()) return value;
  return invalid(arguments, option, fmt::format("use {}", fmt::join(words, " or ")));
}

}  // namespace rankrun::launch
