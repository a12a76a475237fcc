// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/options.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace rankrun::bench {

using base::Result;

namespace {

constexpr int kMostRuns = 100'000;  // more is a typing error
constexpr int kMostLines = 100'000'000;
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

CLI::Option* add_count(CLI::App& command, const char* name, int& count, const char* text) {
  return command.add_option(name, count, text)
      ->check(CLI::Range(1, kMostRuns))
      ->capture_default_str();
}

void add_common(CLI::App& command, CommonOptions& options) {
  command.add_option(
      "--rankrun", options.rankrun, "Default: the one built or installed with this.");
  command.add_option("--torchrun", options.torchrun, "Default: that of deploy/test.sh --peers.");
  command.add_option("--json", options.json, "File for the same figures as JSON; -: stdout.");
}

void add_work(CLI::App& command, int& lines, std::uint64_t& seed) {
  command.add_option("--lines", lines, "Lines that each worker writes.")
      ->check(CLI::Range(1, kMostLines))
      ->capture_default_str();
  command.add_option("--seed", seed, "Of the lines, their pieces and pauses.")
      ->capture_default_str();
}

CLI::App& launch_command(CLI::App& app, LaunchOptions& options) {
  CLI::App& launch = *app.add_subcommand("launch", "Start, restart and idle cost of the launcher.");
  add_common(launch, options);
  add_count(launch, "--runs", options.runs, "Whole launches to take the median of.");
  add_count(launch, "--restarts", options.restarts, "Restarts to take percentiles of.");
  add_count(
      launch, "--idle-seconds", options.idle_seconds, "How long sleeping workers are watched.")
      ->check(CLI::Range(1, kMostSeconds));
  return launch;
}

CLI::App& logs_command(CLI::App& app, LogsOptions& options) {
  CLI::App& logs = *app.add_subcommand("logs", "What --tee loses and costs, and how late it is.");
  add_common(logs, options);
  add_work(logs, options.lines, options.seed);
  add_count(logs, "--workers", options.workers, "Workers that write at once.");
  add_count(logs, "--stamps", options.stamps, "Lines to take percentiles of their latency of.");
  return logs;
}

// Not for people: kept out of --help.
CLI::App& log_worker_command(CLI::App& app, LogWorkerOptions& options) {
  CLI::App& worker = *app.add_subcommand("log-worker", "One worker of logs.")->group("");
  add_work(worker, options.lines, options.seed);
  worker.add_option("--stamps", options.stamps);
  return worker;
}

CLI::App& orphans_command(CLI::App& app, OrphansOptions& options) {
  CLI::App& orphans =
      *app.add_subcommand("orphans", "What SIGKILL to launcher or worker leaves behind.");
  add_common(orphans, options);
  add_count(orphans, "--hunts", options.hunts, "Kills with cgroups, and as many without.");
  orphans.add_option("--torchrun-hunts", options.torchrun_hunts, "The same for torchrun.")
      ->check(CLI::Range(0, kMostRuns))
      ->capture_default_str();
  orphans.add_option("--seed", options.seed, "Of kinds, victims and moments.")
      ->capture_default_str();
  return orphans;
}

// Not for people, as log-worker.
CLI::App& orphan_tree_command(CLI::App& app, OrphanTreeOptions& options) {
  CLI::App& tree = *app.add_subcommand("orphan-tree", "One worker of orphans.")->group("");
  std::map<std::string, TreeKind> kinds;
  for (const TreeKind kind : tree_kinds()) {
    kinds.emplace(name(kind), kind);
  }
  tree.add_option("--kind", options.kind)->transform(CLI::Transformer(kinds));
  tree.add_option("--fifo", options.fifo)->required();
  return tree;
}

CLI::App& store_command(CLI::App& app, StoreOptions& options) {
  CLI::App& store = *app.add_subcommand("store", "The c10d store's server beside PyTorch's.");
  add_common(store, options);
  add_count(store, "--rounds", options.rounds, "Rounds to take the median of.");
  add_count(store, "--milliseconds", options.milliseconds, "How long a load lasts.");
  add_count(store, "--scale", options.scale, "Size of the crowds, in percent.")
      ->check(CLI::Range(1, 100));
  return store;
}

// Not for people, either.
CLI::App& store_server_command(CLI::App& app, StoreServerOptions& options) {
  CLI::App& server = *app.add_subcommand("store-server", "One server of store.")->group("");
  server.add_flag("--floor", options.floor);
  return server;
}

Result<int> rank_in(const Environment& environment) {
  const std::string text = variable(environment, "RANK");
  int rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && rank >= 0) return rank;
  return base::failure({}, "RANK='" + text + "'", "rankbench logs starts it through a launcher");
}

void complete(CommonOptions& options, Environment environment) {
  options.default_torchrun = default_torchrun(environment);
  // Both launchers read options from PET_*: they are to get those that we give.
  std::erase_if(environment, [](const std::string& entry) { return entry.starts_with("PET_"); });
  options.environment = std::move(environment);
}

}  // namespace

Result<Invocation> parse_invocation(std::vector<std::string> arguments, Environment environment) {
  CLI::App app("Measures rankrun and its peers side by side.", "rankbench");
  app.set_version_flag("--version", "rankbench " RANKRUN_VERSION);
  app.require_subcommand(1);
  LaunchOptions launch;
  LogsOptions logs;
  LogWorkerOptions worker;
  OrphansOptions orphans;
  OrphanTreeOptions tree;
  StoreOptions store;
  StoreServerOptions server;
  const CLI::App& launch_app = launch_command(app, launch);
  const CLI::App& logs_app = logs_command(app, logs);
  log_worker_command(app, worker);
  const CLI::App& orphans_app = orphans_command(app, orphans);
  const CLI::App& tree_app = orphan_tree_command(app, tree);
  const CLI::App& store_app = store_command(app, store);
  const CLI::App& server_app = store_server_command(app, server);
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
  if (launch_app.parsed()) {
    complete(launch, std::move(environment));
    return launch;
  }
  if (logs_app.parsed()) {
    complete(logs, std::move(environment));
    return logs;
  }
  if (orphans_app.parsed()) {
    complete(orphans, std::move(environment));
    return orphans;
  }
  if (tree_app.parsed()) return tree;
  if (store_app.parsed()) {
    complete(store, std::move(environment));
    return store;
  }
  if (server_app.parsed()) return server;
  const Result<int> rank = rank_in(environment);
  if (!rank) return base::failure(rank.error());
  worker.rank = *rank;
  return worker;
}

Environment read_environment() {
  Environment environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  return environment;
}

}  // namespace rankrun::bench
