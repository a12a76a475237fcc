// SPDX-License-Identifier: Apache-2.0
// The operating system's processes behind an interface, so that the agent runs in tests without
// any.
#pragma once

#include "agent/exit_status.h"
#include "agent/memory_cgroup.h"
#include "agent/process_spec.h"
#include "store/base/clock.h"
#include "store/base/result.h"

#include <boost/asio/awaitable.hpp>

#include <sys/types.h>

#include <memory>
#include <optional>

namespace rankrun::agent {

/// A started process, leader of its process group. It stays unreaped until its runner's end_all(),
/// so that neither its id nor its group's can come to mean somebody else.
class Process {
 public:
  virtual ~Process() = default;

  virtual pid_t pid() const = 0;

  /// Returns when the process has ended; may be awaited once. Waits as long as the process runs.
  virtual boost::asio::awaitable<ExitStatus> wait_exit() = 0;

  /// Sends `signal` to the whole process group.
  virtual void signal_group(int signal) = 0;

  /// Whether the kernel has killed a process for lack of memory where this one's memory is counted,
  /// since this one was started. It may have been another process there.
  virtual std::optional<OutOfMemory> memory_kill() const = 0;
};

class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;

  /// Fails with errc::program_not_found, errc::program_not_executable or the system's code; then
  /// nothing was started.
  virtual base::Result<std::unique_ptr<Process>> start(const ProcessSpec& spec) = 0;

  /// Kills whatever is left of all that was started and of all that came of it, waits until it is
  /// gone and reaps it. Fails with errc::workers_stuck, naming what is still there at `deadline`.
  virtual boost::asio::awaitable<base::Result<void>> end_all(base::TimePoint deadline) = 0;
};

}  // namespace rankrun::agent
