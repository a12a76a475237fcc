// SPDX-License-Identifier: Apache-2.0
// Pure: command line and environment -> what to measure. The only reader of flags and variables.
// A further sub-command is a struct here, an alternative of Invocation, a ..._command in options.cc
// and a line in main.cc.
#pragma once

#include "apps/bench/orphan_tree.h"
#include "store/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rankrun::bench {

using Environment = std::vector<std::string>;  ///< "NAME=value"

/// What every benchmark takes.
struct CommonOptions {
  std::optional<std::string> rankrun;   ///< as given
  std::optional<std::string> torchrun;  ///< as given
  std::string default_torchrun;         ///< where deploy/test.sh --peers installs it
  std::string json;                     ///< a path, "-" for stdout, empty for none
  Environment environment;              ///< for the measured programs
};

/// `rankbench launch`
struct LaunchOptions : CommonOptions {
  int runs = 50;
  int restarts = 100;
  int idle_seconds = 10;
};

/// `rankbench logs`
struct LogsOptions : CommonOptions {
  int workers = 4;
  int lines = 250'000;  ///< of each worker
  std::uint64_t seed = 1;
  int stamps = 1000;  ///< lines to take the latency of
};

/// `rankbench log-worker`, which `rankbench logs` starts through a launcher: what one worker
/// writes.
struct LogWorkerOptions {
  int rank = 0;  ///< RANK
  int lines = 0;
  std::uint64_t seed = 0;
  int stamps = 0;  ///< instead of `lines`
};

/// `rankbench orphans`
struct OrphansOptions : CommonOptions {
  int hunts = 1000;  ///< with cgroups, and as many without
  int torchrun_hunts = 50;
  std::uint64_t seed = 1;
};

/// `rankbench store`
struct StoreOptions : CommonOptions {
  int rounds = 5;
  int milliseconds = 1000;  ///< of each load that lasts
  int scale = 100;          ///< clients, ranks and pairs, in percent of the full crowds
};

/// `rankbench store-server`, which `rankbench store` starts: one server in a process of its own.
struct StoreServerOptions {
  bool floor = false;  ///< the least that a server has to do, instead of ours
};

/// Text to print instead of measuring anything.
struct PrintText {
  std::string text;
};

using Invocation = std::variant<LaunchOptions,
                                LogsOptions,
                                LogWorkerOptions,
                                OrphansOptions,
                                OrphanTreeOptions,
                                StoreOptions,
                                StoreServerOptions,
                                PrintText>;

/// Every failure is a usage error. `arguments` is argv without the program's own name.
base::Result<Invocation> parse_invocation(std::vector<std::string> arguments,
                                          Environment environment);

/// The environment of this process.
Environment read_environment();

}  // namespace rankrun::bench
