// SPDX-License-Identifier: Apache-2.0
// Pure: argv and environment -> option values and the program, by the rules of Python's argparse
// that torchrun's users rely on. Nothing after the program's name is looked at.
#pragma once

#include "agent/config.h"
#include "apps/launch/option_table.h"
#include "store/base/result.h"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::launch {

/// What was given. Numbers and choices are checked, other values are not understood yet.
struct ParsedArguments {
  /// Text per option (its long name with dashes). A toggle is there when it is on, with no text.
  std::map<std::string_view, std::string> values;
  std::optional<std::string> program;  ///< the first positional argument
  std::vector<std::string> program_arguments;

  std::set<std::string_view> from_variables;  ///< options in `values` that a PET_ variable set

  bool has(std::string_view option) const { return values.contains(option); }
  std::optional<std::string> value(std::string_view option) const;

  /// How a message names what set the option: "--nproc-per-node" or "PET_NPROC_PER_NODE".
  std::string source(std::string_view option) const;
};

/// Applies the rules: `--opt value`, `--opt=value`, `-x`, `-xvalue`, clusters of letters; dashes or
/// underscores; unique prefixes of long options, where ours do not compete with torchrun's; the
/// last of several wins; a value may not be an option unless it is joined (negative numbers may);
/// the first literal `--`, before or right after the program, is dropped. Options that are not
/// given take PET_NAME from `environment`. Reading ends at a request, as --help. `arguments` is
/// argv without the program's own name. Fails with errc::invalid_value or no code.
base::Result<ParsedArguments> apply_argument_rules(std::span<const std::string> arguments,
                                                   const agent::Environment& environment);

}  // namespace rankrun::launch
