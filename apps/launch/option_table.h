// SPDX-License-Identifier: Apache-2.0
// Every option of rankrun, as data: parsing, the PET_* variables, --help, the man page, the shell
// completions and the table in agent/README.md come from this one table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::launch {

/// What an option takes.
enum class OptionKind {
  text,     ///< any value; a rule of its own understands it
  integer,  ///< a whole number
  number,   ///< a number, as 0.1
  choice,   ///< one of the literal words of its value name
  toggle,   ///< no value: it is there or not
  request,  ///< no value: it asks for a text instead of a launch, so what follows does not matter
};

/// What becomes of it.
enum class OptionState {
  works,
  no_effect,  ///< accepted and checked
  one_node,   ///< what needs several nodes is refused until they exist
  refused,
  ours,  ///< torchrun does not have it
};

struct Option {
  std::string_view name;  ///< long name with dashes; the one with underscores is an option too
  char letter;            ///< 0: no short form
  OptionKind kind;
  OptionState state;
  bool has_variable;            ///< PET_NAME sets it when the command line does not
  std::string_view value_name;  ///< words in lower case stand for themselves: "N|auto"
  std::string_view help;        ///< sentences
  std::string_view difference;  ///< from torchrun, with the reason; empty: none
};

/// torchrun's options in the order of its help, then ours.
std::span<const Option> option_table();

bool takes_value(const Option& option);

/// The words of the value name that stand for themselves.
std::vector<std::string_view> literal_words(const Option& option);

/// "--nproc-per-node" and, where it differs, "--nproc_per_node".
std::vector<std::string> long_spellings(const Option& option);

/// "PET_NPROC_PER_NODE".
std::string variable_name(std::string_view option);

/// For people: "works", "accepted, no effect", "one node only", "refused", "ours".
std::string_view to_string(OptionState state);

}  // namespace rankrun::launch
