// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include "agent/exit_code.h"
#include "agent/signals.h"
#include "agent/text_limits.h"
#include "agent/worker_env.h"
#include "store/base/assert.h"
#include "store/base/async.h"
#include "store/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <utility>

namespace rankrun::agent {

using base::Clock;
using base::Result;
namespace asio = boost::asio;

namespace {

constexpr base::Duration kJoinLimit = std::chrono::minutes(10);  // torchrun's join_timeout
constexpr base::Duration kReportLimit = std::chrono::minutes(1);
constexpr base::Duration kLeaveLimit = std::chrono::seconds(10);
// SIGKILL takes effect at once, except on a process in uninterruptible sleep.
constexpr base::Duration kKillLimit = std::chrono::seconds(30);

constexpr std::size_t kMostEvents = 1 << 16;  // far beyond one per worker and call

std::string shown_scope(const Timer& timer) {
  constexpr std::size_t kMostScope = 256;
  return base::escape_control(start_of(timer.scope, kMostScope));
}

}  // namespace

Agent::Agent(asio::any_io_executor executor, AgentContext context)
    : executor_(std::move(executor)),
      context_(std::move(context)),
      state_(context_.config.local_world_size, context_.config.on_term),
      events_(executor_, kMostEvents),
      restart_delay_(context_.config.restart_delay),
      same_failures_(context_.config.max_same_failure),
      grace_(executor_),
      calls_(executor_, [this](const std::exception_ptr& thrown) { fail(base::error_of(thrown)); }),
      tasks_(executor_,
             [this](const std::exception_ptr& thrown) { fail(base::error_of(thrown)); }) {}

asio::awaitable<Ending> Agent::run() {
  std::vector<Action> actions = state_.start();
  for (;;) {
    for (const Action& action : actions) {
      std::visit([this](const auto& what) { perform(what); }, action);
    }
    if (state_.phase() == Phase::ended) break;
    const auto [error, event] = co_await events_.async_receive(base::kUseTuple);
    RANKRUN_ASSERT(!error);  // the channel is never closed
    actions = state_.on(event);
  }
  tasks_.stop();
  co_await tasks_.join();
  co_return state_.ending();
}

void Agent::on_signal(int signal) {
  const std::string name = signal_name(signal);
  if (!is_stop_signal(signal)) {
    context_.log->info("got {}: passed on to the workers", name);
    post(event::SignalForWorkers{signal});
    return;
  }
  const bool is_first = !state_.ending().stop_signal;
  if (signal == SIGTERM && is_first && context_.config.on_term == OnTerm::notify) {
    context_.log->warn("got {}: told the workers; they end when they are ready", name);
  } else {
    const char* what = state_.stop_asked() ? "killing" : "stopping";
    context_.log->warn("got {}: {} the workers", name, what);
  }
  context_.events.write(change::StopRequested{signal});
  post(event::StopRequested{signal});
}

void Agent::fail(base::Error error) {
  post(event::Failed{std::move(error)});
}

void Agent::post(Event event) {
  const bool taken = events_.try_send(boost::system::error_code(), std::move(event));
  RANKRUN_ASSERT(taken);
}

void Agent::perform(const action::Join&) {
  base::Duration delay{};
  if (workers_) {
    delay = restart_delay_.after(failed_at_ - started_at_);
    context_.events.write(change::RestartDecided{delay});
  }
  if (delay > base::Duration::zero()) context_.log->warn("restart in {}", seconds_text(delay));
  calls_.spawn(join(delay));
}

// A stop signal ends the delay, as all calls into the rendezvous.
asio::awaitable<void> Agent::join(base::Duration delay) {
  if (delay > base::Duration::zero()) {
    asio::steady_timer timer(executor_, delay);
    const auto [cancelled] = co_await timer.async_wait(base::kUseTuple);
    if (cancelled) co_return;
  }
  joining_since_ = Clock::now();
  auto view = co_await context_.rendezvous.next_view(Clock::now() + kJoinLimit);
  if (view) {
    post(event::ViewFormed{std::move(*view)});
  } else {
    fail(std::move(view.error()));
  }
}

void Agent::perform(const action::StartWorkers& what) {
  view_ = what.view;
  told_started_ = 0;
  ended_.clear();
  expired_.clear();
  stop_signals_.clear();
  if (context_.watchdog != nullptr) context_.watchdog->rest();
  context_.events.write(change::AttemptStarted{view_, Clock::now() - joining_since_});
  const Result<void> opened = context_.log_dir.open_attempt(context_.config.local_world_size);
  if (!opened) context_.log->warn("{}", opened.error().message());
  OutputContext routes{.consoles = context_.consoles,
                       .config = context_.config,
                       .log_dir = context_.log_dir,
                       .log = context_.log,
                       .host = context_.job.host.substr(0, context_.job.host.find('.')),
                       .first_rank = view_.ranks.first_rank};
  workers_ = std::make_unique<WorkerGroup>(
      executor_,
      context_.runner,
      AttemptOutput(executor_, std::move(routes)),
      [this](int local_rank, ExitStatus status) { on_exit(local_rank, status); },
      [this](base::Error error) { fail(std::move(error)); });
  started_at_ = Clock::now();
  const Result<void> started = workers_->start(worker_specs());
  tell_started();
  if (started) {
    watch_timers();
    announce_start();
    if (context_.config.hang_timeout > base::Duration::zero()) watch_for_hang();
  } else {
    fail(started.error());
  }
}

std::vector<ProcessSpec> Agent::worker_specs() const {
  std::vector<ProcessSpec> specs;
  for (int local_rank = 0; local_rank < context_.config.local_world_size; ++local_rank) {
    ProcessSpec spec;
    spec.executable = context_.command.executable;
    for (const std::string& argument : context_.command.arguments) {
      spec.arguments.push_back(substitute_local_rank(argument, local_rank));
    }
    if (!context_.placements.empty()) {
      spec.placement = context_.placements.at(static_cast<std::size_t>(local_rank));
    }
    spec.memory_max = context_.config.memory_max;
    spec.input = input_of(context_.config, local_rank, context_.stdin_is_terminal);
    WorkerFiles files{.error = context_.log_dir.error_file(local_rank), .heartbeat = {}};
    if (context_.config.hang_timeout > base::Duration::zero()) {
      files.heartbeat = context_.log_dir.heartbeat_file(local_rank);
    }
    spec.environment =
        environment_lines(worker_environment(context_.config, view_, local_rank, files));
    specs.push_back(std::move(spec));
  }
  return specs;
}

void Agent::announce_start() {
  const LaunchConfig& config = context_.config;
  if (view_.restart_count == 0) {
    const bool is_told = config.threads || config.environment.contains("OMP_NUM_THREADS");
    if (config.local_world_size == 1 || is_told) return;
    context_.log->warn(
        "OMP_NUM_THREADS is not set: each worker gets 1, so that they do not compete");
    return;
  }
  const std::chrono::duration<double, std::milli> took = Clock::now() - failed_at_;
  context_.log->warn("restart {} of {}: {} workers started again after {:.1f} ms",
                     view_.restart_count,
                     config.max_restarts,
                     config.local_world_size,
                     took.count());
}

void Agent::watch_for_hang() {
  HangContext context{.config = context_.config,
                      .log_dir = context_.log_dir,
                      .workers = *workers_,
                      .runner = context_.runner,
                      .console = context_.consoles.err.console(),
                      .log = context_.log,
                      .first_rank = view_.ranks.first_rank};
  hang_monitor_ = std::make_unique<HangMonitor>(
      executor_,
      std::move(context),
      [this](Hang hang) { post(event::HangFound{std::move(hang)}); },
      [this](base::Error error) { fail(std::move(error)); });
}

WorkerReport Agent::worker_report(int local_rank) const {
  WorkerReport worker;
  worker.rank = view_.ranks.first_rank + local_rank;
  worker.local_rank = local_rank;
  worker.pid = workers_->pid(local_rank);
  return worker;
}

// A worker may end before the others have been started.
void Agent::tell_started() {
  for (; told_started_ < workers_->size(); ++told_started_) {
    context_.events.write(change::WorkerStarted{told_started_, workers_->pid(told_started_)});
  }
}

void Agent::on_exit(int local_rank, ExitStatus status) {
  tell_started();
  WorkerReport worker = worker_report(local_rank);
  worker.end =
      WorkerEnd{status, decisive_signal(status, stop_signals_), std::chrono::system_clock::now()};
  if (worker.outcome() == WorkerOutcome::failed) {
    worker.error_file = read_error_file(context_.log_dir.error_file(local_rank));
    worker.last_lines = workers_->output(local_rank).last_lines();
    worker.memory_kill = workers_->memory_kill(local_rank);
    worker.expired_timer = ended_by_timer(worker);
  }
  context_.events.write(change::WorkerEnded{worker});
  ended_.push_back(std::move(worker));
  post(event::WorkerEnded{local_rank, status});
}

void Agent::watch_timers() {
  if (context_.watchdog == nullptr) return;
  context_.watchdog->watch(workers_->pids(), [this](int local_rank, const Timer& timer) {
    on_expired(local_rank, timer);
  });
}

void Agent::on_expired(int local_rank, const Timer& timer) {
  context_.log->warn("timer '{}' of rank {} (pid {}) expired: sent {}",
                     shown_scope(timer),
                     view_.ranks.first_rank + local_rank,
                     timer.pid,
                     signal_name(timer.signal));
  expired_.try_emplace(local_rank, timer);
}

// A signal that was no worker's end, as one to dump stacks, is not its cause either. What becomes
// of a worker whose child was ended is up to the worker.
std::string Agent::ended_by_timer(const WorkerReport& worker) const {
  const auto found = expired_.find(worker.local_rank);
  if (found == expired_.end()) return {};
  const Timer& timer = found->second;
  if (timer.pid == worker.pid && !ended_by(worker.end->status, timer.signal)) return {};
  return fmt::format("timer '{}' of pid {} expired", shown_scope(timer), timer.pid);
}

void Agent::perform(const action::SignalWorkers& what) {
  // A notice, or a signal that is passed on, excuses no worker's end.
  if (state_.phase() == Phase::stopping && is_stop_signal(what.signal)) {
    if (context_.watchdog != nullptr) context_.watchdog->rest();
    if (hang_monitor_) hang_monitor_->stop();
    stop_signals_.push_back(what.signal);
    context_.events.write(change::WorkersStopped{what.signal});
  }
  workers_->signal_all(what.signal);
}

void Agent::perform(const action::ArmGrace&) {
  grace_.expires_after(context_.config.shutdown_timeout);
  tasks_.spawn([](Agent& self) -> asio::awaitable<void> {
    const auto [error] = co_await self.grace_.async_wait(base::kUseTuple);
    if (!error) self.post(event::GraceExpired{});
  }(*this));
}

void Agent::perform(const action::EndWorkers&) {
  grace_.cancel();
  if (context_.watchdog != nullptr) context_.watchdog->rest();
  if (ended_.size() < static_cast<std::size_t>(workers_->size())) {
    stop_signals_.push_back(SIGKILL);
    context_.events.write(change::WorkersStopped{SIGKILL});
  }
  tasks_.spawn(end_workers());
}

asio::awaitable<void> Agent::end_workers() {
  if (hang_monitor_) {
    hang_monitor_->stop();
    co_await hang_monitor_->join();
  }
  const Result<void> ended = co_await workers_->end(Clock::now() + kKillLimit);
  if (hang_monitor_) context_.log_dir.remove_heartbeats();
  hang_monitor_.reset();
  if (ended) {
    post(event::WorkersGone{});
  } else {
    post(event::WorkersStuck{ended.error()});
  }
}

void Agent::perform(const action::AnnounceFailure& what) {
  failed_at_ = Clock::now();
  const auto failed = std::find_if(ended_.begin(), ended_.end(), [&what](const auto& worker) {
    return worker.local_rank == what.failure.local_rank;
  });
  RANKRUN_ASSERT(failed != ended_.end());
  FirstCause cause{.rank = failed->rank, .status = failed->end->status, .exception = {}};
  const auto& file = failed->error_file;
  if (file && file->error) cause.exception = file->error->message;
  same_failures_.add(std::move(cause), failed_at_ - started_at_);
  context_.log->warn("{}", describe(*failed, context_.job.host));
}

HealthFacts Agent::health() const {
  HealthFacts facts;
  facts.phase = state_.phase();
  facts.run_id = context_.config.run_id;
  facts.attempt = view_.restart_count;
  facts.workers = context_.config.local_world_size;
  if (workers_) facts.workers_live = workers_->size() - static_cast<int>(ended_.size());
  return facts;
}

void Agent::perform(const action::AnnounceHang& what) {
  failed_at_ = Clock::now();
  same_failures_.reset();
  context_.events.write(change::HangFound{what.hang});
  context_.log->warn("{}: stopping the workers", describe(what.hang, view_.ranks.first_rank));
}

JobReport Agent::report() const {
  JobReport report;
  report.job = context_.job;
  report.ending = state_.ending();
  report.exit_code = exit_code(report.ending, context_.config.exit_code_style);
  report.restarts = view_.restart_count;
  report.same_failures = stops_early_ ? same_failures_.limit_reached() : 0;
  report.first_rank = view_.ranks.first_rank;
  report.workers = ended_;
  for (int local_rank = 0; workers_ && local_rank < workers_->size(); ++local_rank) {
    const bool has_ended = std::any_of(ended_.begin(), ended_.end(), [&](const auto& worker) {
      return worker.local_rank == local_rank;
    });
    if (!has_ended) report.workers.push_back(worker_report(local_rank));
  }
  report.took = Clock::now() - context_.job.started;
  return report;
}

void Agent::perform(const action::Report& what) {
  calls_.spawn(report(what));
}

asio::awaitable<void> Agent::report(action::Report what) {
  auto verdict =
      co_await context_.rendezvous.report(what.view, what.outcome, Clock::now() + kReportLimit);
  if (!verdict) {
    fail(std::move(verdict.error()));
    co_return;
  }
  stops_early_ = *verdict == rendezvous::Verdict::restart && same_failures_.limit_reached() > 0;
  post(event::VerdictGiven{stops_early_ ? rendezvous::Verdict::give_up : *verdict});
}

void Agent::perform(const action::Leave&) {
  tasks_.spawn(leave());
}

asio::awaitable<void> Agent::leave() {
  calls_.stop();
  co_await calls_.join();
  auto left = co_await context_.rendezvous.leave(Clock::now() + kLeaveLimit);
  if (left) {
    post(event::Left{});
  } else {
    fail(std::move(left.error()));
  }
}

}  // namespace rankrun::agent
