// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/output_options.h"

#include "apps/launch/option_values.h"
#include "apps/launch/python_numbers.h"
#include "store/base/text.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace rankrun::launch {

using agent::Streams;
using agent::StreamSelection;
using base::Result;

namespace {

std::optional<Streams> streams(std::string_view digit) {
  if (digit.size() != 1 || digit[0] < '0' || digit[0] > '3') return std::nullopt;
  return static_cast<Streams>(digit[0] - '0');
}

// A local rank as Python's int() reads it. One that no worker can have is kept: it selects nobody.
std::optional<int> local_rank(std::string_view text) {
  using Limits = std::numeric_limits<int>;
  const auto rank = parse_python_integer(text);
  if (!rank) return std::nullopt;
  return static_cast<int>(std::clamp<long>(*rank, Limits::min(), Limits::max()));
}

// Digits only: "0:1" is torchrun's pattern, not a Python integer.
std::optional<int> plain_local_rank(std::string_view text) {
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return local_rank(text);
}

Result<StreamSelection> selection(const ParsedArguments& arguments, std::string_view option) {
  const std::string text = arguments.value(option).value_or("0");
  StreamSelection selection;
  if (const auto of_every_worker = streams(text)) {
    selection.of_every_worker = *of_every_worker;
    return selection;
  }
  for (const std::string_view entry : base::split(text, ',')) {
    const auto parts = base::split(entry, ':');
    const auto rank = plain_local_rank(parts.front());
    const auto selected = streams(parts.back());
    if (parts.size() != 2 || !rank || !selected) {
      return invalid(
          arguments, option, "use 0, 1, 2 or 3 for every worker, or RANK:DIGIT,... as 0:1,12:3");
    }
    selection.by_local_rank.insert_or_assign(*rank, *selected);
  }
  return selection;
}

Result<std::optional<std::set<int>>> console_ranks(const ParsedArguments& arguments) {
  constexpr std::string_view kOption = "local-ranks-filter";
  const auto text = non_empty(arguments, kOption);
  if (!text) return std::optional<std::set<int>>();
  std::set<int> ranks;
  for (const std::string_view piece : base::split(*text, ',')) {
    const auto rank = local_rank(piece);
    if (!rank) return invalid(arguments, kOption, "use whole numbers and commas, as 0,1,2");
    ranks.insert(*rank);
  }
  return std::optional(std::move(ranks));
}

// Pieces between commas, where two commas are one in a piece. An empty piece is in every line.
std::vector<std::string> filters(const ParsedArguments& arguments, std::string_view option) {
  const auto text = non_empty(arguments, option);
  if (!text) return {};
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < text->size(); ++i) {
    const bool is_comma = (*text)[i] == ',';
    if (is_comma && text->compare(i, 2, ",,") == 0) {
      pieces.back() += ',';
      ++i;
    } else if (is_comma) {
      pieces.emplace_back();
    } else {
      pieces.back() += (*text)[i];
    }
  }
  return pieces;
}

std::optional<std::string> line_prefix(const ParsedArguments& arguments,
                                       const agent::Environment& environment) {
  if (auto prefix = non_empty(arguments, "log-line-prefix-template")) return prefix;
  auto variable = agent::value_of(environment, "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE");
  if (variable && variable->empty()) return std::nullopt;
  return variable;
}

Result<std::optional<std::string>> file_name(const ParsedArguments& arguments,
                                             std::string_view option) {
  auto name = arguments.value(option);
  if (name && name->empty()) return invalid(arguments, option, "name a file");
  return name;
}

Result<bool> events_on_console(const ParsedArguments& arguments) {
  auto handler = literal_word(arguments, "event-log-handler", "null");
  if (!handler) return base::failure(std::move(handler.error()));
  return *handler == "console";
}

Result<void> check_logs_specs(const ParsedArguments& arguments) {
  if (!arguments.has("logs-specs")) return {};
  return base::failure({},
                       "--logs-specs names a Python plug-in, which rankrun cannot load",
                       "use --redirects, --tee and --log-dir");
}

}  // namespace

Result<void> apply_output_options(const ParsedArguments& arguments, agent::LaunchConfig& config) {
  agent::OutputConfig& output = config.output;
  config.log_dir = non_empty(arguments, "log-dir");
  output.stdout_filters = filters(arguments, "duplicate-stdout-filters");
  output.stderr_filters = filters(arguments, "duplicate-stderr-filters");
  output.line_prefix = line_prefix(arguments, config.environment).value_or(output.line_prefix);
  output.fold = arguments.has("fold");

  Fields fields;
  fields.check(check_logs_specs(arguments));
  fields.set(output.redirects, selection(arguments, "redirects"));
  fields.set(output.tee, selection(arguments, "tee"));
  fields.set(output.console_ranks, console_ranks(arguments));
  fields.set(config.report_file, file_name(arguments, "report"));
  fields.set(config.events_file, file_name(arguments, "events"));
  fields.set(config.events_on_console, events_on_console(arguments));
  return fields.result();
}

}  // namespace rankrun::launch
