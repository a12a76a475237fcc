// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/options.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace rankrun::bench {

using base::Result;

namespace {

constexpr int kMostRuns = 100'000;  // more is a typing error
constexpr int kMostSeconds = 3600;

std::string variable(const Environment& environment, std::string_view name) {
  for (const std::string_view entry : environment) {
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return std::string(entry.substr(name.size() + 1));
    }
  }
  return {};
}

// The same place as in deploy/test.sh.
std::string default_torchrun(const Environment& environment) {
  std::string cache = variable(environment, "XDG_CACHE_HOME");
  if (cache.empty()) cache = variable(environment, "HOME") + "/.cache";
  return cache + "/rankrun/torch-" RANKRUN_TORCH_VERSION "/bin/torchrun";
}

void add_launch(CLI::App& app, LaunchOptions& options) {
  CLI::App* launch = app.add_subcommand("launch", "Start, restart and idle cost of the launcher.");
  launch->add_option(
      "--rankrun", options.rankrun, "Default: the one built or installed with this.");
  launch->add_option("--torchrun", options.torchrun, "Default: that of deploy/test.sh --peers.");
  launch->add_option("--runs", options.runs, "Whole launches to take the median of.")
      ->check(CLI::Range(1, kMostRuns))
      ->capture_default_str();
  launch->add_option("--restarts", options.restarts, "Restarts to take percentiles of.")
      ->check(CLI::Range(1, kMostRuns))
      ->capture_default_str();
  launch
      ->add_option("--idle-seconds", options.idle_seconds, "How long sleeping workers are watched.")
      ->check(CLI::Range(1, kMostSeconds))
      ->capture_default_str();
  launch->add_option("--json", options.json, "File for the same figures as JSON; -: stdout.");
}

}  // namespace

Result<Invocation> parse_invocation(std::vector<std::string> arguments, Environment environment) {
  CLI::App app("Measures rankrun and its peers side by side.", "rankbench");
  app.set_version_flag("--version", "rankbench " RANKRUN_VERSION);
  app.require_subcommand(1);
  LaunchOptions options;
  add_launch(app, options);
  try {
    std::reverse(arguments.begin(), arguments.end());  // the order CLI11 wants
    app.parse(std::move(arguments));
  } catch (const CLI::CallForVersion&) {
    return PrintText{app.version() + "\n"};
  } catch (const CLI::CallForHelp&) {
    return PrintText{app.help()};
  } catch (const CLI::ParseError& error) {
    return base::failure({}, error.what(), "see rankbench --help");
  }
  options.default_torchrun = default_torchrun(environment);
  // Both launchers read options from PET_*: they are to get those that we give.
  std::erase_if(environment, [](const std::string& entry) { return entry.starts_with("PET_"); });
  options.environment = std::move(environment);
  return options;
}

Environment read_environment() {
  Environment environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  return environment;
}

}  // namespace rankrun::bench
