// SPDX-License-Identifier: Apache-2.0
// One measured program, from vfork to the exit status that wait4 gives.
#pragma once

#include "store/base/clock.h"
#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace rankrun::bench {

/// What to start. Descriptors 0, 1 and 2 are /dev/null, except for a given stdout.
struct Command {
  std::vector<std::string> words;        ///< the path of the program and its arguments
  std::vector<std::string> environment;  ///< "NAME=value", the whole environment
  int stdout_fd = -1;                    ///< borrowed until start returns; -1: /dev/null
  int exit_code = 0;                     ///< with which it is to end
};

/// What is known of a program that has ended.
struct Finished {
  base::TimePoint at;  ///< when wait4 had returned
  int wait_status = 0;
  base::Duration cpu{};  ///< user and system time, of what it waited for too
};

/// A running program. Its owner ends it: the destructor sends SIGTERM and, when that does not help
/// in time, SIGKILL. It also gets SIGTERM when rankbench dies. Moved, never copied.
class Program {
 public:
  static base::Result<Program> start(const Command& command);

  Program(Program&& other) noexcept;
  Program& operator=(Program&&) = delete;
  ~Program();

  pid_t pid() const { return pid_; }
  base::TimePoint started() const { return started_; }  ///< right before vfork

  /// User and system time so far, without that of its children.
  base::Duration own_cpu() const;

  /// Waits for its end. Fails with errc::timed_out at `deadline`; then it still runs.
  base::Result<Finished> wait(base::TimePoint deadline);

 private:
  Program(pid_t pid, base::TimePoint started, base::UniqueFd pidfd);

  pid_t pid_;  // -1 once reaped
  base::TimePoint started_;
  base::UniqueFd pidfd_;
};

/// What a whole run of a program took.
struct RunCost {
  base::Duration wall;
  base::Duration cpu;
};

/// Runs all `commands` at once, until the last has ended; `cpu` is their sum. Fails unless each
/// ends with its exit code before `limit` is over.
base::Result<RunCost> run_together(const std::vector<Command>& commands, base::Duration limit);

/// Fails unless `command` ended so with its exit code.
base::Result<void> require_end(const Command& command, const Finished& finished);

/// What a program writes to stdout, which may not be more than a pipe holds. Fails like
/// run_together.
base::Result<std::string> output_of(Command command, base::Duration limit);

}  // namespace rankrun::bench
