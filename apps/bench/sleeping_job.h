// SPDX-License-Identifier: Apache-2.0
// A launcher with two workers that report to us and then sleep.
#pragma once

#include "apps/bench/launchers.h"
#include "apps/bench/program.h"
#include "apps/bench/workplace.h"
#include "store/base/clock.h"
#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <sys/types.h>

#include <array>
#include <string>

namespace rankrun::bench {

/// Runs from start() until it is destroyed.
class SleepingJob {
 public:
  /// Returns once both workers have reported.
  static base::Result<SleepingJob> start(const Launcher& launcher,
                                         const Workplace& place,
                                         int max_restarts);

  pid_t launcher_pid() const { return program_.pid(); }

  /// Kills the worker with rank 1. Returns the time until both new workers have reported.
  base::Result<base::Duration> kill_and_restart();

 private:
  SleepingJob(std::string name, base::UniqueFd reports, base::UniqueFd write_end, Program program);

  base::Result<void> await_reports();
  base::Result<std::string> next_line(base::TimePoint deadline);

  std::string name_;  // of the launcher
  base::UniqueFd reports_;
  base::UniqueFd write_end_;        // workers open it through /proc, so it must stay open
  std::string received_;            // of reports_, not yet a whole line
  std::array<pid_t, 2> workers_{};  // by rank; 0: has not reported
  Program program_;
};

}  // namespace rankrun::bench
