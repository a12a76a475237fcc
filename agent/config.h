// SPDX-License-Identifier: Apache-2.0
// What a launch is about, as plain values. Made by the option parser; nothing else reads flags or
// PET_* variables.
#pragma once

#include <spdlog/common.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rankrun::agent {

/// Environment variables by name.
using Environment = std::map<std::string, std::string, std::less<>>;

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

struct LaunchConfig {
  Program program;
  std::string run_id = "none";
  std::string role = "default";
  int local_world_size = 1;
  int max_restarts = 0;
  /// Base of the log directory. Unset: a temporary one. "/dev/null": none, and no error files.
  std::optional<std::string> log_dir;
  std::string master_addr = "127.0.0.1";  ///< literal or name; bound exactly
  std::uint16_t master_port = 0;          ///< 0: the kernel picks one per attempt
  bool serve_legacy_anywhere = false;     ///< L1 store clients also off loopback
  /// From the first stop signal to the workers until they are killed.
  std::chrono::seconds shutdown_timeout{30};
  spdlog::level::level_enum log_level = spdlog::level::warn;  ///< of our own messages (LOGLEVEL)
  Environment environment;                                    ///< ours, which workers inherit

  bool operator==(const LaunchConfig&) const = default;
};

}  // namespace rankrun::agent
