// SPDX-License-Identifier: Apache-2.0
// One node's supervisor: feeds what happens to the state table (state.h) and performs what it
// decides.
#pragma once

#include "agent/config.h"
#include "agent/consoles.h"
#include "agent/event_log.h"
#include "agent/hang_monitor.h"
#include "agent/health_answer.h"
#include "agent/job_report.h"
#include "agent/log_dir.h"
#include "agent/restart_policy.h"
#include "agent/state.h"
#include "agent/watchdog.h"
#include "agent/worker_command.h"
#include "agent/worker_group.h"
#include "rendezvous/rendezvous.h"
#include "store/base/log.h"
#include "store/base/task_group.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/steady_timer.hpp>

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace rankrun::agent {

/// What an agent works with. All of it belongs to whoever runs the agent and outlives it.
struct AgentContext {
  const LaunchConfig& config;
  const WorkerCommand& command;
  std::vector<Placement> placements;  ///< by local rank; none: wherever we may run
  rendezvous::Rendezvous& rendezvous;
  ProcessRunner& runner;
  Consoles& consoles;
  LogDir& log_dir;
  bool stdin_is_terminal;
  const JobFacts& job;
  EventLog& events;
  base::Logger log;
  Watchdog* watchdog = nullptr;  ///< null: workers set no timers
};

/// Belongs to one loop, that of its executor. run() once.
class Agent {
 public:
  Agent(boost::asio::any_io_executor executor, AgentContext context);

  /// Runs the job until it has ended on this node and every process of it is gone.
  boost::asio::awaitable<Ending> run();

  /// SIGTERM, SIGINT, SIGQUIT and SIGHUP ask for an end: the workers get that signal, then the
  /// shutdown timeout, then SIGKILL; the second request kills at once. With OnTerm::notify the
  /// first SIGTERM sets no limit. Other signals are passed on to the workers.
  void on_signal(int signal);

  /// Reports trouble from outside: everything is ended, and this is the result.
  void fail(base::Error error);

  /// How it is now.
  HealthFacts health() const;

  /// What became of the job, once run() has returned.
  JobReport report() const;

 private:
  void post(Event event);

  void perform(const action::Join&);
  void perform(const action::StartWorkers& what);
  void perform(const action::SignalWorkers& what);
  void perform(const action::ArmGrace&);
  void perform(const action::EndWorkers&);
  void perform(const action::AnnounceFailure& what);
  void perform(const action::AnnounceHang& what);
  void perform(const action::Report& what);
  void perform(const action::Leave&);

  boost::asio::awaitable<void> join(base::Duration delay);
  boost::asio::awaitable<void> end_workers();
  boost::asio::awaitable<void> report(action::Report what);
  boost::asio::awaitable<void> leave();

  std::vector<ProcessSpec> worker_specs() const;
  void announce_start();
  void watch_for_hang();
  void tell_started();
  WorkerReport worker_report(int local_rank) const;
  void on_exit(int local_rank, ExitStatus status);
  void watch_timers();
  void on_expired(int local_rank, const Timer& timer);
  std::string ended_by_timer(const WorkerReport& worker) const;

  boost::asio::any_io_executor executor_;
  AgentContext context_;
  AgentState state_;
  boost::asio::experimental::channel<void(boost::system::error_code, Event)> events_;
  rendezvous::View view_;                      // of the current attempt
  std::unique_ptr<WorkerGroup> workers_;       // of the current attempt
  std::unique_ptr<HangMonitor> hang_monitor_;  // of the current attempt; null: not asked for
  int told_started_ = 0;                       // of its workers, events of their starts
  std::vector<WorkerReport> ended_;            // of the current attempt, in the order of their ends
  std::map<int, Timer> expired_;               // first of each worker, by local rank
  std::vector<int> stop_signals_;              // that its workers were sent
  base::TimePoint joining_since_;
  base::TimePoint started_at_;  // the current attempt
  base::TimePoint failed_at_;
  RestartDelay restart_delay_;
  SameFailures same_failures_;
  bool stops_early_ = false;  // because of the latter
  boost::asio::steady_timer grace_;
  base::TaskGroup calls_;  // into the rendezvous; given up when we leave
  base::TaskGroup tasks_;
};

}  // namespace rankrun::agent
