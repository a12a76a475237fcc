// SPDX-License-Identifier: Apache-2.0
// A launcher with workers that report to us and then sleep.
#pragma once

#include "apps/bench/launchers.h"
#include "apps/bench/program.h"
#include "apps/bench/workplace.h"
#include "store/base/clock.h"
#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace rankrun::bench {

struct JobShape {
  int workers;  ///< at least 2
  int max_restarts;
};

/// Runs from start() until it is destroyed.
class SleepingJob {
 public:
  /// Returns once all workers have reported.
  static base::Result<SleepingJob> start(const Launcher& launcher,
                                         const Workplace& place,
                                         const JobShape& shape);

  pid_t launcher_pid() const { return program_.pid(); }

  /// Kills the worker with rank 1. Returns the time until all new workers have reported.
  base::Result<base::Duration> kill_and_restart();

 private:
  SleepingJob(std::string name, base::UniqueFd reports, base::UniqueFd write_end, Program program);

  base::Result<void> await_reports();
  base::Result<std::string> next_line(base::TimePoint deadline);

  std::string name_;  // of the launcher
  base::UniqueFd reports_;
  base::UniqueFd write_end_;    // workers open it through /proc, so it must stay open
  std::string received_;        // of reports_, not yet a whole line
  std::vector<pid_t> workers_;  // by rank; 0: has not reported
  Program program_;
};

}  // namespace rankrun::bench
