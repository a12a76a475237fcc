// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/completion.h"

#include "apps/launch/option_table.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace rankrun::launch {
namespace {

// Both spellings and the short form.
std::vector<std::string> names(const Option& option) {
  std::vector<std::string> all = long_spellings(option);
  if (option.letter != 0) all.push_back(fmt::format("-{}", option.letter));
  return all;
}

bool takes_path(const Option& option) {
  return option.value_name.starts_with("FILE") || option.value_name.starts_with("DIR");
}

constexpr std::string_view kBashStart = R"(# bash completion of rankrun
_rankrun() {
  local cur=${COMP_WORDS[COMP_CWORD]} option='' prefix='' word i
  COMPREPLY=()
  # Where the cursor is: behind an option that needs a value, behind the program, or neither.
  # The shell may take "--tee=3" apart into three words.
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    [[ $word == = ]] && continue
    if [[ -n $option ]]; then
      option=''
      continue
    fi
    case $word in
)";

constexpr std::string_view kBashMiddle = R"(      --) return ;;
      -?*) ;;
      *) return ;;
    esac
  done
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $cur == --*=* ]]; then
    option=${cur%%=*} prefix=${cur%%=*}= cur=${cur#*=}
  fi
  case $option in
)";

constexpr std::string_view kBashEnd = R"(  esac
}
complete -o default -F _rankrun rankrun
)";

// Files are what bash completes by default, where we have no words.
std::string bash_words(std::string_view words) {
  return fmt::format("mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W '{}' -- \"$cur\")", words);
}

std::string bash_values(const Option& option) {
  const auto words = literal_words(option);
  if (words.empty()) return {};
  return fmt::format("    {}) {} ;;\n",
                     fmt::join(names(option), "|"),
                     bash_words(fmt::format("{}", fmt::join(words, " "))));
}

// A text in a zsh spec: quoted for the shell, and its colons and brackets for _arguments.
std::string zsh_text(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else if (c == ':' || c == '[' || c == ']' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else {
      quoted += c;
    }
  }
  return quoted;
}

std::string zsh_action(const Option& option) {
  if (!takes_value(option)) return {};
  std::string action = ":" + zsh_text(option.value_name) + ":";
  const auto words = literal_words(option);
  if (takes_path(option)) return action + "_files";
  if (!words.empty()) action += fmt::format("({})", fmt::join(words, " "));
  return action;
}

// All spellings of an option exclude each other.
std::string zsh_specs(const Option& option) {
  std::string specs;
  const auto all = names(option);
  for (const std::string& name : all) {
    const bool is_long = name.starts_with("--");
    const std::string_view mark = !takes_value(option) ? "" : is_long ? "=" : "+";
    specs += fmt::format("    '({}){}{}[{}]{}' \\\n",
                         fmt::join(all, " "),
                         name,
                         mark,
                         zsh_text(option.help),
                         zsh_action(option));
  }
  return specs;
}

}  // namespace

std::string bash_completion() {
  std::vector<std::string> with_value;
  std::vector<std::string> offered;
  std::string values;
  for (const Option& option : option_table()) {
    const auto all = names(option);
    if (takes_value(option)) with_value.insert(with_value.end(), all.begin(), all.end());
    offered.push_back(all.front());
    values += bash_values(option);
  }
  return fmt::format(
      "{}      {}) option=$word ;;\n{}    '')\n      [[ $cur == -* ]] && {}\n      ;;\n{}{}",
      kBashStart,
      fmt::join(with_value, "|"),
      kBashMiddle,
      bash_words(fmt::format("{}", fmt::join(offered, " "))),
      values,
      kBashEnd);
}

std::string zsh_completion() {
  std::string specs;
  for (const Option& option : option_table()) {
    specs += zsh_specs(option);
  }
  return fmt::format(
      "#compdef rankrun\n"
      "_rankrun() {{\n"
      "  _arguments -s -S -A '-*' \\\n"
      "{}"
      "    '1:program:_files' \\\n"
      "    '*::arguments of the program:_files'\n"
      "}}\n"
      "if [[ ${{funcstack[1]}} == _rankrun ]]; then\n"
      "  _rankrun \"$@\"\n"
      "else\n"
      "  compdef _rankrun rankrun\n"
      "fi\n",
      specs);
}

}  // namespace rankrun::launch
