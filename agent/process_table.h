// SPDX-License-Identifier: Apache-2.0
// The processes of this machine, as procfs tells of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace rankrun::agent {

/// One process, as it was a moment ago.
struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  char state = '?';  ///< R, S, D, Z, T, ... as in proc(5)
  /// Clock ticks (sysconf(_SC_CLK_TCK)): its own, and those of the children it has waited for.
  std::uint64_t cpu_ticks = 0;
  std::uint64_t started = 0;  ///< clock ticks since boot
  int threads = 0;            ///< that have not ended
  std::string name;           ///< of its program, at most 15 characters

  /// Dead, but not yet reaped. A main thread that has ended shows the same state while others run.
  bool is_zombie() const { return (state == 'Z' || state == 'X') && threads <= 1; }
};

/// The text of a process's stat file; nothing when it is none.
std::optional<ProcessEntry> parse_process(std::string_view stat);

/// Nothing when there is no such process. `proc` is where procfs is mounted, here and below.
std::optional<ProcessEntry> find_process(const std::filesystem::path& proc, pid_t pid);

/// Calls `visit` for each process, by ascending pid.
void for_each_process(const std::filesystem::path& proc,
                      const std::function<void(const ProcessEntry&)>& visit);

/// The user on whose behalf it runs (the real uid); nothing when it is gone.
std::optional<uid_t> user_of(const std::filesystem::path& proc, pid_t pid);

}  // namespace rankrun::agent
