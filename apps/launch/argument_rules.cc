// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/argument_rules.h"

#include "store/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace rankrun::launch {

using base::failure;
using base::Result;

namespace {

tl::unexpected<base::Error> refuse(std::string what) {
  return failure({}, std::move(what), "see rankrun --help");
}

std::string with_underscores(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

std::string spelled(std::string_view option) {
  return "--" + std::string(option);
}

std::string variable_name(std::string_view option) {
  std::string name = "PET_" + with_underscores(option);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::toupper(c));
  });
  return name;
}

// argparse takes "-5" and "-.5" for values, since no option looks like a number.
bool is_negative_number(std::string_view token) {
  token.remove_prefix(1);
  const auto dot = token.find('.');
  const std::string_view whole = token.substr(0, dot);
  const std::string_view fraction = dot == std::string_view::npos ? "0" : token.substr(dot + 1);
  const auto all_digits = [](std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
  };
  return all_digits(whole) && all_digits(fraction) && !fraction.empty() &&
         (dot != std::string_view::npos || !whole.empty());
}

// A token with a space is a value, unless the space is behind the '=' of an option.
bool looks_like_option(std::string_view token) {
  if (token.size() < 2 || token[0] != '-' || is_negative_number(token)) return false;
  const auto space = token.find(' ');
  return space == std::string_view::npos || token.find('=') < space;
}

// Finds a long option by its full name or a unique prefix, in either spelling.
Result<const Option*> find_long(std::string_view name) {
  std::vector<std::string> candidates;
  const Option* found = nullptr;
  for (const Option& option : kOptions) {
    for (const std::string& spelling : {std::string(option.name), with_underscores(option.name)}) {
      if (spelling == name) return &option;
      if (!spelling.starts_with(name)) continue;
      const std::string candidate = "--" + spelling;
      if (std::find(candidates.begin(), candidates.end(), candidate) != candidates.end()) continue;
      candidates.push_back(candidate);
      found = &option;
    }
  }
  if (candidates.size() == 1) return found;
  if (candidates.empty()) return refuse(fmt::format("unrecognized argument: --{}", name));
  return refuse(
      fmt::format("ambiguous option: --{} could match {}", name, fmt::join(candidates, ", ")));
}

Result<const Option*> find_letter(char letter) {
  for (const Option& option : kOptions) {
    if (option.letter == letter) return &option;
  }
  return refuse(fmt::format("unrecognized argument: -{}", letter));
}

struct OptionToken {
  const Option* option = nullptr;
  std::optional<std::string> joined_value;  // after '=', or after the letter
};

Result<OptionToken> read_option(std::string_view token) {
  const bool is_long = token.starts_with("--");
  const auto equals = token.find('=');
  if (is_long) {
    auto option =
        find_long(token.substr(2, equals == std::string_view::npos ? equals : equals - 2));
    if (!option) return failure(std::move(option.error()));
    OptionToken read{*option, std::nullopt};
    if (equals != std::string_view::npos) read.joined_value = std::string(token.substr(equals + 1));
    return read;
  }
  auto option = find_letter(token[1]);
  if (!option) return failure(std::move(option.error()));
  OptionToken read{*option, std::nullopt};
  std::string_view rest = token.substr(2);
  if (rest.starts_with('=')) rest.remove_prefix(1);
  if (token.size() > 2) read.joined_value = std::string(rest);
  return read;
}

// Reads options up to the program's name; returns how many arguments they took.
Result<std::size_t> read_options(std::span<const std::string> arguments, ParsedArguments& parsed) {
  std::size_t i = 0;
  while (i < arguments.size() && looks_like_option(arguments[i])) {
    const std::string& token = arguments[i++];
    if (token == "--") break;
    auto read = read_option(token);
    if (!read) return failure(std::move(read.error()));
    const Option& option = *read->option;
    std::string value;
    if (option.kind == OptionKind::toggle) {
      if (read->joined_value) {
        return refuse(fmt::format("argument {}: ignored explicit argument '{}'",
                                  spelled(option.name),
                                  *read->joined_value));
      }
    } else if (read->joined_value) {
      value = *read->joined_value;
    } else if (i < arguments.size() && !looks_like_option(arguments[i])) {
      value = arguments[i++];
    } else {
      return refuse(fmt::format("argument {}: expected one argument", spelled(option.name)));
    }
    parsed.values.insert_or_assign(option.name, std::move(value));
  }
  return i;
}

Result<void> apply_variables(const agent::Environment& environment, ParsedArguments& parsed) {
  for (const Option& option : kOptions) {
    if (!option.has_variable || parsed.has(option.name)) continue;
    const std::string variable = variable_name(option.name);
    const auto set = environment.find(variable);
    if (set == environment.end()) continue;
    if (option.kind == OptionKind::value) {
      parsed.values.emplace(option.name, set->second);
      parsed.from_variables.insert(option.name);
      continue;
    }
    const auto number = parse_python_integer(set->second);
    if (!number) {
      return failure(base::errc::invalid_value,
                     variable + "=" + set->second,
                     "a switch is set by a whole number: 0 is off, 1 is on");
    }
    if (*number != 0) parsed.values.emplace(option.name, "");
  }
  return {};
}

}  // namespace

std::optional<std::string> ParsedArguments::value(std::string_view option) const {
  const auto found = values.find(option);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

std::string ParsedArguments::source(std::string_view option) const {
  return from_variables.contains(option) ? variable_name(option) : spelled(option);
}

Result<ParsedArguments> apply_argument_rules(std::span<const std::string> arguments,
                                             const agent::Environment& environment) {
  ParsedArguments parsed;
  const auto read = read_options(arguments, parsed);
  if (!read) return failure(read.error());
  auto applied = apply_variables(environment, parsed);
  if (!applied) return failure(std::move(applied.error()));
  auto rest = arguments.subspan(*read);
  if (rest.empty()) return parsed;
  parsed.program = rest.front();
  rest = rest.subspan(1);
  if (!rest.empty() && rest.front() == "--") rest = rest.subspan(1);
  parsed.program_arguments.assign(rest.begin(), rest.end());
  return parsed;
}

std::string help_text() {
  std::string text =
      "usage: rankrun [options] program [arguments of the program ...]\n\n"
      "Starts the workers of a distributed training job and keeps them alive. Options end at the\n"
      "program; each may be written with dashes or underscores. All but --legacy, --help and\n"
      "--version can be set by a variable, as PET_NPROC_PER_NODE=2.\n\n";
  for (const Option& option : kOptions) {
    const std::string letter = option.letter == 0 ? "    " : fmt::format("-{}, ", option.letter);
    const std::string name = option.value_name.empty()
                                 ? spelled(option.name)
                                 : fmt::format("{}={}", spelled(option.name), option.value_name);
    text += fmt::format("  {}{:<32} {}\n", letter, name, option.help);
  }
  return text;
}

std::optional<long> parse_python_integer(std::string_view text) {
  text = base::trimmed(text);
  if (text.empty()) return std::nullopt;
  const bool is_negative = text[0] == '-';
  if (is_negative || text[0] == '+') text.remove_prefix(1);
  std::string digits = is_negative ? "-" : "";
  char before = '_';
  for (const char c : text) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit && (c != '_' || before == '_')) return std::nullopt;
    if (is_digit) digits += c;
    before = c;
  }
  long value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (before == '_' || error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace rankrun::launch
