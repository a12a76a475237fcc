// SPDX-License-Identifier: Apache-2.0
// Ends processes by what marks them as ours, wherever their parents went: for hosts where we may
// not make cgroups.
#pragma once

#include "agent/process_table.h"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::agent {

/// The environment variable that marks the processes of a launch. Launches within launches are
/// joined by colons, the outermost first.
inline constexpr std::string_view kMarkVariable = "RANKRUN_MARK";

/// `proc`, here and below, is where procfs is mounted.

/// What tells the processes of a launch from all others. Processes that have left their worker's
/// session and scrubbed their environment have none of it.
struct Marks {
  /// In their environment: 128 random bits in hexadecimal. Counts only for processes of our user.
  std::string mark;
  /// Workers. A process with one of them as its session or process group is ours.
  std::vector<pid_t> leaders;
  uid_t uid = 0;            ///< the user whose processes we end
  std::uint64_t since = 0;  ///< ours did not start before this: clock ticks since boot
};

/// Whether a block of "NAME=value" strings, each with a null character behind it, has the mark.
bool has_mark(std::string_view environment, std::string_view mark);

/// Sends `signal` to each process that is ours and our user's, and returns those that live,
/// whatever their user. When that is none, none was left. With SIGKILL it gives up after ten
/// thousand. `proc` is where procfs is mounted.
std::vector<ProcessEntry> sweep(const Marks& marks, int signal, const std::filesystem::path& proc);

/// Stops them all, so that none can start another one: sweeps with SIGSTOP until one finds no new
/// process.
void stop_all(const Marks& marks, const std::filesystem::path& proc);

}  // namespace rankrun::agent
