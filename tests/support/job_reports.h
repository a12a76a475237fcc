// SPDX-License-Identifier: Apache-2.0
// Workers' ends and reports for the tests of what is made of them.
#pragma once

#include "agent/job_report.h"

#include <chrono>
#include <string>
#include <utility>

namespace rankrun::tests {

inline agent::WorkerReport ended_worker(int rank,
                                        agent::ExitStatus status,
                                        std::optional<int> stop_signal = std::nullopt) {
  agent::WorkerReport worker;
  worker.rank = rank;
  worker.local_rank = rank;
  worker.pid = 4000 + rank;
  worker.end = agent::WorkerEnd{
      status, stop_signal, agent::WallTime(std::chrono::milliseconds(1700000000500))};
  return worker;
}

inline agent::WorkerReport failed_worker(int rank, int code, std::vector<std::string> last_lines) {
  agent::WorkerReport worker = ended_worker(rank, agent::ExitStatus::exited(code));
  worker.last_lines = std::move(last_lines);
  return worker;
}

inline agent::JobFacts some_job() {
  agent::JobFacts job;
  job.program = "train.py";
  job.run_id = "job7";
  job.role = "trainer";
  job.host = "node7";
  job.pid = 3999;
  job.local_world_size = 2;
  job.max_restarts = 3;
  job.started = base::TimePoint(std::chrono::seconds(100));
  job.started_at = agent::WallTime(std::chrono::seconds(1700000000));
  return job;
}

/// A job that the first of these workers has ended.
inline agent::JobReport failed_job(std::vector<agent::WorkerReport> workers) {
  agent::JobReport report;
  report.job = some_job();
  report.ending.failure =
      agent::WorkerFailure{workers.front().local_rank, workers.front().end->status};
  report.exit_code = 1;
  report.workers = std::move(workers);
  report.took = std::chrono::milliseconds(1500);
  return report;
}

}  // namespace rankrun::tests
