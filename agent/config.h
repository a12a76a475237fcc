// SPDX-License-Identifier: Apache-2.0
// What a launch is about, as plain values. Made by the option parser; nothing else reads flags or
// PET_* variables.
#pragma once

#include "store/base/clock.h"
#include "store/base/endpoint.h"

#include <spdlog/common.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::agent {

/// Environment variables by name.
using Environment = std::map<std::string, std::string, std::less<>>;

/// The value of a variable, which may be empty; nothing when it is not set.
std::optional<std::string> value_of(const Environment& environment, std::string_view name);

enum class ProgramKind {
  python_script,  ///< the interpreter runs a file
  python_module,  ///< the interpreter runs a module (-m)
  executable,     ///< run directly (--no-python)
};

/// What the user asked to run, as typed.
struct Program {
  ProgramKind kind = ProgramKind::python_script;
  std::string name;                    ///< script path, module name, or program (searched in PATH)
  std::vector<std::string> arguments;  ///< `${local_rank}` and `$$` are substituted per worker

  bool operator==(const Program&) const = default;
};

/// One of a worker's two output streams.
enum class Stream { out = 1, err = 2 };

/// A set of them, with torchrun's digits.
enum class Streams { none = 0, out = 1, err = 2, both = 3 };

/// The streams of workers that an option is about: "3" means both of every worker, "0:1,12:3" those
/// of the workers it names.
struct StreamSelection {
  Streams of_every_worker = Streams::none;
  std::map<int, Streams> by_local_rank;  ///< when not empty, all others have none

  bool has(int local_rank, Stream stream) const;
  bool empty() const;
  bool operator==(const StreamSelection&) const = default;
};

/// Where the output of the workers goes.
struct OutputConfig {
  StreamSelection redirects;  ///< to log files only
  StreamSelection tee;  ///< to log files and, with a prefix, to the console; wins over redirects
  std::optional<std::set<int>> console_ranks;  ///< the only local ranks that reach the console
  std::vector<std::string>
      stdout_filters;  ///< lines of tee'd stdout holding one: to filtered_stdout.log
  std::vector<std::string> stderr_filters;
  std::string line_prefix = "[${role_name}${local_rank}]:";  ///< template, no space after it
  bool fold = false;  ///< both streams through the console; equal lines of many ranks become one

  bool operator==(const OutputConfig&) const = default;
};

/// What SIGTERM does.
enum class OnTerm {
  stop,    ///< as every stop signal: workers get it, then the shutdown timeout, then SIGKILL
  notify,  ///< workers get it, and as much time as they want to end by themselves
};

/// Which exit code tells of a failure.
enum class ExitCodeStyle {
  worker,    ///< that of the first failing worker, 128+n for signals, 126 and 127
  torchrun,  ///< always 1
};

/// Whether an attempt's processes are held together by a cgroup.
enum class CgroupUse {
  automatic,  ///< where we may make one
  required,   ///< else nothing is started
  off,
};

/// Which CPUs a worker may use.
enum class NumaBinding { node, socket, exclusive, core_complex };

struct LaunchConfig {
  Program program;
  std::string run_id = "none";
  std::string role = "default";
  int local_world_size = 1;
  int max_restarts = 0;
  base::Duration hang_timeout{};   ///< zero: hangs are not looked for
  base::Duration restart_delay{};  ///< before the first restart; see RestartDelay
  int max_same_failure = 0;        ///< zero: no limit but max_restarts
  /// Base of the log directory. Unset: a temporary one. "/dev/null": none, and no error files.
  std::optional<std::string> log_dir;
  std::string master_addr = "127.0.0.1";  ///< literal or name; bound exactly
  std::uint16_t master_port = 0;          ///< 0: the kernel picks one per attempt
  bool serve_legacy_anywhere = false;     ///< L1 store clients also off loopback
  /// From the first stop signal to the workers until they are killed.
  std::chrono::seconds shutdown_timeout{30};
  /// Caught: SIGTERM, SIGINT, SIGHUP and SIGQUIT stop the job, others are passed on to the workers.
  std::set<int> handled_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  OnTerm on_term = OnTerm::stop;
  ExitCodeStyle exit_code_style = ExitCodeStyle::worker;
  OutputConfig output;
  std::optional<std::string> report_file;  ///< the failure report as JSON
  std::optional<std::string> events_file;  ///< state changes as JSON lines; "-": stdout
  bool events_on_console = false;          ///< the same with torchrun's fields, on stderr
  std::optional<std::string> timer_file;   ///< FIFO in which workers set timers; unset: none
  std::optional<base::Endpoint> health;    ///< where probes are answered; no host: everywhere
  std::optional<int> stdin_rank;  ///< local rank that reads stdin, on a terminal with job control
  std::optional<NumaBinding> numa_binding;
  CgroupUse cgroup = CgroupUse::automatic;
  std::optional<std::uint64_t> memory_max;  ///< bytes for each worker and all that it starts
  std::optional<int> threads;               ///< OMP_NUM_THREADS of a worker; unset: as torchrun
  bool virtual_local_rank = false;  ///< every worker is LOCAL_RANK 0 and sees one device only
  spdlog::level::level_enum log_level = spdlog::level::warn;  ///< of our own messages (LOGLEVEL)
  Environment environment;                                    ///< ours, which workers inherit
  std::vector<std::string> notices;  ///< lines that the user should see at the start

  bool operator==(const LaunchConfig&) const = default;
};

}  // namespace rankrun::agent
