// SPDX-License-Identifier: Apache-2.0
// Pure: what to start as a worker, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rankrun::agent {

/// The CPUs that a process may use, and the NUMA nodes its memory comes from.
struct Placement {
  std::set<int> cpus;   ///< never empty
  std::set<int> nodes;  ///< preferred; empty: the kernel's default

  bool operator==(const Placement&) const = default;
};

/// What a process reads as its stdin.
enum class Input {
  inherited,  ///< our own
  nothing,    ///< /dev/null
  terminal,   ///< our own, a terminal, with job control: the process is in its foreground
};

/// What to start. The process gets a session and process group of its own (with Input::terminal
/// only a group: the terminal belongs to our session), default signal handling, the descriptors 0,
/// 1 and 2 and no other, and dies with this one.
struct ProcessSpec {
  std::string executable;                ///< a path; PATH is not searched
  std::vector<std::string> arguments;    ///< argv, the program's name included
  std::vector<std::string> environment;  ///< "NAME=value", the whole environment
  Input input = Input::inherited;
  int stdout_fd = -1;  ///< borrowed until start returns; -1: ours
  int stderr_fd = -1;  ///< the same
  std::optional<Placement> placement;
  std::optional<std::uint64_t> memory_max;  ///< bytes, with all that it starts; unset: no limit

  bool operator==(const ProcessSpec&) const = default;
};

}  // namespace rankrun::agent
