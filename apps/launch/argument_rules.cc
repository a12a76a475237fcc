// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/argument_rules.h"

#include "apps/launch/python_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace rankrun::launch {

using base::failure;
using base::Result;

namespace {

tl::unexpected<base::Error> refuse(std::string what) {
  return failure({}, std::move(what), "see rankrun --help");
}

std::string spelled(std::string_view option) {
  return "--" + std::string(option);
}

enum class TokenKind { positional, separator, option, ambiguous, unknown };

struct Token {
  TokenKind kind = TokenKind::positional;
  const Option* option = nullptr;
  std::optional<std::string> joined;    // after '=', or after the letter
  std::vector<std::string> candidates;  // when ambiguous
};

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

// By its full name, else by a prefix that is unique among torchrun's options, else among ours.
Token find_long(std::string_view name) {
  Token torchruns;
  Token our_own;
  for (const Option& option : option_table()) {
    Token& found = option.state == OptionState::ours ? our_own : torchruns;
    for (std::string& spelling : long_spellings(option)) {
      if (spelling == name) return {TokenKind::option, &option, {}, {}};
      if (!spelling.starts_with(name)) continue;
      found.option = &option;
      found.candidates.push_back(std::move(spelling));
    }
  }
  Token& found = torchruns.candidates.empty() ? our_own : torchruns;
  switch (found.candidates.size()) {
    case 0:
      found.kind = TokenKind::unknown;
      break;
    case 1:
      found.kind = TokenKind::option;
      break;
    default:
      found.kind = TokenKind::ambiguous;
  }
  return found;
}

const Option* find_letter(char letter) {
  const auto options = option_table();
  const auto found = std::find_if(options.begin(), options.end(), [letter](const Option& option) {
    return option.letter != 0 && option.letter == letter;
  });
  return found == options.end() ? nullptr : &*found;
}

Token read_long(std::string_view token) {
  const auto equals = token.find('=');
  Token read = find_long(token.substr(0, equals));
  if (equals != std::string_view::npos) read.joined = std::string(token.substr(equals + 1));
  return read;
}

Token read_short(std::string_view token) {
  Token read{TokenKind::unknown, find_letter(token[1]), {}, {}};
  if (read.option == nullptr) return read;
  read.kind = TokenKind::option;
  if (token.size() > 2) read.joined = std::string(token.substr(token[2] == '=' ? 3 : 2));
  return read;
}

Token classify(std::string_view token) {
  if (token.size() < 2 || token[0] != '-') return {};
  if (token == "--") return {TokenKind::separator, nullptr, {}, {}};
  Token read = token[1] == '-' ? read_long(token) : read_short(token);
  const bool may_be_value = is_negative_number(token) || token.find(' ') != std::string_view::npos;
  if (read.kind == TokenKind::unknown && may_be_value) read.kind = TokenKind::positional;
  return read;
}

// What argparse checks itself. `source` is what set the value.
Result<void> check_value(const Option& option, const std::string& source, std::string_view value) {
  std::string remedy;
  if (option.kind == OptionKind::integer && !parse_python_integer(value)) {
    remedy = "use a whole number";
  } else if (option.kind == OptionKind::number && !parse_python_number(value)) {
    remedy = "use a number";
  } else if (option.kind == OptionKind::choice) {
    const auto words = literal_words(option);
    if (std::find(words.begin(), words.end(), value) == words.end()) {
      remedy = fmt::format("use one of {}", fmt::join(words, ", "));
    }
  }
  if (remedy.empty()) return {};
  return failure(base::errc::invalid_value, fmt::format("{}={}", source, value), remedy);
}

// Reads arguments from the left, up to and with the program.
class Reader {
 public:
  explicit Reader(std::span<const std::string> arguments) : rest_(arguments) {}

  Result<ParsedArguments> read() {
    bool dropped_separator = false;
    while (!rest_.empty() && !asked_) {
      Token token = classify(rest_.front());
      if (token.kind == TokenKind::positional) break;
      const std::string& typed = next();
      if (token.kind == TokenKind::separator) {
        dropped_separator = true;
        break;
      }
      auto taken = take(std::move(token), typed);
      if (!taken) return failure(std::move(taken.error()));
    }
    if (!rest_.empty() && !asked_) take_program(dropped_separator);
    return std::move(parsed_);
  }

  bool asked() const { return asked_; }

 private:
  const std::string& next() {
    const std::string& argument = rest_.front();
    rest_ = rest_.subspan(1);
    return argument;
  }

  Result<void> take(Token token, const std::string& typed) {
    if (token.kind == TokenKind::unknown) return refuse("unrecognized argument: " + typed);
    if (token.kind == TokenKind::ambiguous) {
      return refuse(fmt::format("ambiguous option: {} could match {}",
                                typed.substr(0, typed.find('=')),
                                fmt::join(token.candidates, ", ")));
    }
    const bool is_cluster = !typed.starts_with("--");
    while (is_cluster && !takes_value(*token.option) && token.joined && !token.joined->empty()) {
      const Option* const following = find_letter(token.joined->front());
      if (following == nullptr) break;
      set(*token.option, "");
      token.option = following;
      token.joined->erase(0, 1);
      if (token.joined->empty()) token.joined.reset();
    }
    return take_last(token);
  }

  // The option that may have a value.
  Result<void> take_last(const Token& token) {
    const std::string name = spelled(token.option->name);
    if (!takes_value(*token.option)) {
      if (token.joined) {
        return refuse(
            fmt::format("argument {}: ignored explicit argument '{}'", name, *token.joined));
      }
      set(*token.option, "");
      return {};
    }
    if (!token.joined && (rest_.empty() || classify(rest_.front()).kind != TokenKind::positional)) {
      return refuse(fmt::format("argument {}: expected one argument", name));
    }
    const std::string value = token.joined ? *token.joined : next();
    auto checked = check_value(*token.option, name, value);
    if (checked) set(*token.option, value);
    return checked;
  }

  void set(const Option& option, std::string value) {
    if (option.kind == OptionKind::request) asked_ = true;
    parsed_.values.insert_or_assign(option.name, std::move(value));
  }

  void take_program(bool dropped_separator) {
    parsed_.program = next();
    if (!dropped_separator && !rest_.empty() && rest_.front() == "--") next();
    parsed_.program_arguments.assign(rest_.begin(), rest_.end());
  }

  std::span<const std::string> rest_;
  ParsedArguments parsed_;
  bool asked_ = false;  // a request was read
};

Result<void> apply_variables(const agent::Environment& environment, ParsedArguments& parsed) {
  for (const Option& option : option_table()) {
    if (!option.has_variable || parsed.has(option.name)) continue;
    const std::string variable = variable_name(option.name);
    const auto set = environment.find(variable);
    if (set == environment.end()) continue;
    const std::string& value = set->second;
    if (takes_value(option)) {
      auto checked = check_value(option, variable, value);
      if (!checked) return checked;
      parsed.values.emplace(option.name, value);
      parsed.from_variables.insert(option.name);
      continue;
    }
    const auto number = parse_python_integer(value);
    if (!number) {
      return failure(base::errc::invalid_value,
                     fmt::format("{}={}", variable, value),
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
  Reader reader(arguments);
  auto parsed = reader.read();
  if (!parsed || reader.asked()) return parsed;
  auto applied = apply_variables(environment, *parsed);
  if (!applied) return failure(std::move(applied.error()));
  return parsed;
}

}  // namespace rankrun::launch
