// SPDX-License-Identifier: Apache-2.0
// The workers of one attempt, started, signalled and ended as a unit.
#pragma once

#include "agent/process.h"
#include "agent/worker_output.h"
#include "store/base/task_group.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rankrun::agent {

/// Belongs to the agent's loop. Must be ended with end() before it is destroyed.
class WorkerGroup {
 public:
  /// Told on the loop, once per worker, how it ended.
  using OnExit = std::function<void(int local_rank, ExitStatus status)>;
  /// Told what escaped from watching them.
  using OnTrouble = std::function<void(base::Error error)>;

  /// `runner` is the agent's and outlives its attempts.
  WorkerGroup(boost::asio::any_io_executor executor,
              ProcessRunner& runner,
              AttemptOutput output,
              OnExit on_exit,
              OnTrouble on_trouble);

  /// Starts a worker per spec, in order; their local ranks are their indices. On failure the ones
  /// before it run: call end().
  base::Result<void> start(std::vector<ProcessSpec> specs);

  /// Sends `signal` to every worker's process group.
  void signal_all(int signal);

  /// Kills what is left of the workers and of all they started, waits until it is gone, and takes
  /// the rest of their output. Fails with errc::workers_stuck for what is still there at
  /// `deadline`.
  boost::asio::awaitable<base::Result<void>> end(base::TimePoint deadline);

  /// How many were started.
  int size() const { return static_cast<int>(workers_.size()); }

  /// By local rank.
  std::vector<pid_t> pids() const;

  /// Of a worker that was started; readable until the next attempt.
  pid_t pid(int local_rank) const { return worker(local_rank).process->pid(); }
  bool is_live(int local_rank) const { return worker(local_rank).is_live; }
  const WorkerOutput& output(int local_rank) const { return worker(local_rank).output; }
  std::optional<OutOfMemory> memory_kill(int local_rank) const {
    return worker(local_rank).process->memory_kill();
  }

 private:
  struct Worker {
    WorkerOutput output;
    std::unique_ptr<Process> process;
    bool is_live = true;
  };

  const Worker& worker(int local_rank) const {
    return workers_.at(static_cast<std::size_t>(local_rank));
  }
  boost::asio::awaitable<void> watch(int local_rank);
  boost::asio::awaitable<void> follow_terminal();

  boost::asio::any_io_executor executor_;
  ProcessRunner& runner_;
  AttemptOutput output_;
  OnExit on_exit_;
  std::vector<Worker> workers_;
  base::TaskGroup tasks_;
};

}  // namespace rankrun::agent
