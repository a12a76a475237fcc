// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/options.h"

#include "apps/launch/argument_rules.h"
#include "apps/launch/completion.h"
#include "apps/launch/help.h"
#include "apps/launch/option_values.h"
#include "apps/launch/output_options.h"
#include "apps/launch/rendezvous_options.h"
#include "apps/launch/watch_options.h"
#include "apps/launch/worker_options.h"
#include "store/base/log.h"

#include <string_view>
#include <utility>

namespace rankrun::launch {

using agent::Environment;
using agent::ExitCodeStyle;
using agent::LaunchConfig;
using base::Result;

namespace {

constexpr int kUsageError = 2;
constexpr int kValueErrorOfTorchrun = 1;

std::optional<PrintText> requested_text(const ParsedArguments& arguments) {
  if (arguments.has("help")) return PrintText{help_text()};
  if (arguments.has("version")) return PrintText{"rankrun " RANKRUN_VERSION "\n"};
  if (arguments.has("print-man")) return PrintText{manual_page(RANKRUN_VERSION)};
  const auto shell = arguments.value("print-completion");
  if (shell == "bash") return PrintText{bash_completion()};
  if (shell == "zsh") return PrintText{zsh_completion()};
  return std::nullopt;
}

ExitCodeStyle exit_code_style(const ParsedArguments& arguments) {
  return arguments.value("exit-code") == "torchrun" ? ExitCodeStyle::torchrun
                                                    : ExitCodeStyle::worker;
}

Result<LaunchConfig> launch_config(const ParsedArguments& arguments,
                                   const Environment& environment,
                                   const HostFacts& host) {
  LaunchConfig config;
  config.environment = environment;
  config.exit_code_style = exit_code_style(arguments);
  config.serve_legacy_anywhere = arguments.has("legacy");

  Fields fields;
  fields.check(apply_worker_options(arguments, host, config));
  fields.check(apply_ending_options(arguments, config));
  fields.check(apply_output_options(arguments, config));
  fields.check(apply_rendezvous_options(arguments, host.random_id, config));
  if (const auto level = environment.find("LOGLEVEL"); level != environment.end()) {
    fields.set(config.log_level, base::parse_log_level(level->second));
  }
  apply_watch_variables(host.random_id, config);
  auto checked = fields.result();
  if (!checked) return base::failure(std::move(checked.error()));
  return config;
}

// A huge value stays one line that a person can read.
tl::unexpected<UsageError> usage_error(base::Error error, int exit_code) {
  constexpr std::size_t kMostText = 500;
  for (std::string* text : {&error.context, &error.remedy}) {
    if (text->size() > kMostText) text->replace(kMostText, std::string::npos, "...");
  }
  return tl::unexpected(UsageError{std::move(error), exit_code});
}

}  // namespace

tl::expected<Invocation, UsageError> parse_invocation(std::span<const std::string> arguments,
                                                      const Environment& environment,
                                                      const HostFacts& host) {
  auto parsed = apply_argument_rules(arguments, environment);
  if (!parsed) return usage_error(std::move(parsed.error()), kUsageError);
  if (auto text = requested_text(*parsed)) return Invocation(std::move(*text));
  if (!parsed->program) {
    return usage_error({{}, "no program given", "see rankrun --help"}, kUsageError);
  }
  auto config = launch_config(*parsed, environment, host);
  if (config) return Invocation(std::move(*config));
  const bool as_torchrun = exit_code_style(*parsed) == ExitCodeStyle::torchrun;
  return usage_error(std::move(config.error()), as_torchrun ? kValueErrorOfTorchrun : kUsageError);
}

}  // namespace rankrun::launch
