// SPDX-License-Identifier: Apache-2.0
// Pure: what became of a job, as plain values; texts, JSON and events are made of them.
#pragma once

#include "agent/error_file.h"
#include "agent/exit_status.h"
#include "agent/memory_cgroup.h"
#include "agent/state.h"
#include "store/base/clock.h"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace rankrun::agent {

using base::WallTime;

/// What is known of a job from its start on.
struct JobFacts {
  std::string program;  ///< as the user typed it
  std::optional<std::string> interpreter;
  std::string run_id;
  std::string role;
  std::string host;
  pid_t pid = 0;  ///< of rankrun
  int local_world_size = 1;
  int max_restarts = 0;
  base::TimePoint started;  ///< both times are those of the same moment
  WallTime started_at;
};

/// The end of one worker.
struct WorkerEnd {
  ExitStatus status = ExitStatus::exited(1);
  std::optional<int> stop_signal;  ///< that rankrun had sent it before; see decisive_signal()
  WallTime time;
};

/// Of the signals that a worker was sent, the one that it ended by, else the last; nothing when it
/// was sent none.
std::optional<int> decisive_signal(const ExitStatus& status, const std::vector<int>& sent);

enum class WorkerOutcome {
  succeeded,
  failed,     ///< by itself, or in another way than rankrun's signal ends a process
  stopped,    ///< by rankrun
  not_ended,  ///< it outlived SIGKILL
};

struct WorkerReport {
  int rank = 0;
  int local_rank = 0;
  pid_t pid = 0;
  std::optional<WorkerEnd> end;
  std::optional<ErrorFile> error_file;  ///< only looked for after a failure
  std::vector<std::string> last_lines;  ///< of its stderr after a failure, oldest first
  std::string expired_timer;            ///< its name when that ended the worker, else empty
  /// The kernel has killed a process where its memory is counted; only looked for after a failure.
  std::optional<OutOfMemory> memory_kill;

  WorkerOutcome outcome() const;

  /// The process that the kernel killed for lack of memory was this worker, or one that ended in
  /// the same way at the same time.
  bool ran_out_of_memory() const;

  /// One line: that it ran out of memory, the timer that ended it, the message of its error file,
  /// the exception of its last Python traceback, or else the last line of its stderr. Not escaped;
  /// empty when it said nothing.
  std::string own_words() const;
};

enum class JobResult { succeeded, failed, stopped, error };

struct JobReport {
  JobFacts job;
  Ending ending;
  int exit_code = 0;
  int restarts = 0;                   ///< so far
  int same_failures = 0;              ///< in a row, when that is why there are no more restarts
  int first_rank = 0;                 ///< global rank of local rank 0
  std::vector<WorkerReport> workers;  ///< of the last attempt, in the order in which they ended
  base::Duration took{};              ///< the whole job

  JobResult result() const;

  /// The worker whose failure ended the job, or came before its stop; null when there is none.
  const WorkerReport* root_cause() const;

  /// Why there are no more restarts although some are left; empty when that is not so.
  std::string why_early() const;

  /// Why it ended, in one line; empty after success.
  std::string reason() const;
};

/// "succeeded", "failed", "stopped", "not_ended".
std::string_view name(WorkerOutcome outcome);
/// "succeeded", "failed", "stopped", "error".
std::string_view name(JobResult result);

/// "rank 3 (local rank 1, pid 4242) on node7 exited with 1: RuntimeError: loss is NaN"; for a
/// worker that has ended.
std::string describe(const WorkerReport& worker, const std::string& host);

}  // namespace rankrun::agent
