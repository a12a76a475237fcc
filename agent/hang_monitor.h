// SPDX-License-Identifier: Apache-2.0
// Looks at the workers of one attempt until they hang (hang_watch.h decides), shows then what each
// of them does, and tells the agent.
#pragma once

#include "agent/config.h"
#include "agent/console.h"
#include "agent/hang_report.h"
#include "agent/hang_watch.h"
#include "agent/log_dir.h"
#include "agent/process.h"
#include "agent/stack_dump.h"
#include "agent/worker_group.h"
#include "store/base/log.h"
#include "store/base/task_group.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <vector>

namespace rankrun::agent {

/// What a monitor works with. All of it is the agent's and outlives the monitor.
struct HangContext {
  const LaunchConfig& config;
  const LogDir& log_dir;
  const WorkerGroup& workers;
  ProcessRunner& runner;
  Console& console;
  base::Logger log;
  int first_rank = 0;  ///< global rank of local rank 0
};

/// Belongs to the agent's loop. Stop and join it before the workers are reaped.
class HangMonitor {
 public:
  /// Told on the loop, once at most.
  using OnHang = std::function<void(Hang hang)>;
  using OnTrouble = std::function<void(base::Error error)>;

  /// Starts to look.
  HangMonitor(boost::asio::any_io_executor executor,
              HangContext context,
              OnHang on_hang,
              OnTrouble on_trouble);

  /// The workers are being stopped: their ends are no business of ours any more.
  void stop() { tasks_.stop(); }
  boost::asio::awaitable<void> join();

 private:
  boost::asio::awaitable<void> watch();
  std::vector<WorkerSample> samples() const;
  boost::asio::awaitable<void> show(const HangWatch& watch, const Hang& hang);
  std::optional<StackDump> start_dump(HungWorker& worker) const;
  HungWorker describe_worker(int local_rank) const;

  boost::asio::any_io_executor executor_;
  HangContext context_;
  OnHang on_hang_;
  base::TaskGroup tasks_;
};

}  // namespace rankrun::agent
