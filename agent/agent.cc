// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include "agent/signals.h"
#include "agent/worker_env.h"
#include "store/base/assert.h"
#include "store/base/async.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
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

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d_%H:%M:%S", &parts)};
}

bool exists(const std::string& path) {
  struct stat status {};
  return !path.empty() && ::stat(path.c_str(), &status) == 0;
}

}  // namespace

Agent::Agent(asio::any_io_executor executor, AgentContext context)
    : executor_(std::move(executor)),
      context_(std::move(context)),
      state_(context_.config.local_world_size, context_.config.on_term),
      events_(executor_, kMostEvents),
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
    context_.log->warn("got {}: stopping the workers", name);
  }
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
  calls_.spawn(join());
}

asio::awaitable<void> Agent::join() {
  auto view = co_await context_.rendezvous.next_view(Clock::now() + kJoinLimit);
  if (view) {
    post(event::ViewFormed{std::move(*view)});
  } else {
    fail(std::move(view.error()));
  }
}

void Agent::perform(const action::StartWorkers& what) {
  view_ = what.view;
  workers_ = std::make_unique<WorkerGroup>(
      executor_,
      context_.runner,
      context_.console,
      [this](int local_rank, ExitStatus status) {
        post(event::WorkerEnded{local_rank, status});
      },
      [this](base::Error error) { fail(std::move(error)); });
  Result<void> started = context_.log_dir.open_attempt(context_.config.local_world_size);
  if (started) started = workers_->start(worker_specs());
  if (started) {
    announce_start();
  } else {
    fail(std::move(started.error()));
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
    spec.input = input_of(context_.config, local_rank, context_.stdin_is_terminal);
    spec.environment = environment_lines(worker_environment(
        context_.config, view_, local_rank, context_.log_dir.error_file(local_rank)));
    specs.push_back(std::move(spec));
  }
  return specs;
}

void Agent::announce_start() {
  const LaunchConfig& config = context_.config;
  if (view_.restart_count == 0) {
    if (config.local_world_size == 1 || config.environment.contains("OMP_NUM_THREADS")) return;
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

void Agent::perform(const action::SignalWorkers& what) {
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
  tasks_.spawn(end_workers());
}

asio::awaitable<void> Agent::end_workers() {
  const Result<void> ended = co_await workers_->end(Clock::now() + kKillLimit);
  if (ended) {
    post(event::WorkersGone{});
  } else {
    fail(ended.error());
  }
}

void Agent::perform(const action::AnnounceFailure& what) {
  failed_at_ = Clock::now();
  failure_time_ = local_time();
  const FailureReport report = describe_failure(what.failure);
  context_.log->warn("rank {} (local rank {}, pid {}) on {} {}",
                     report.rank,
                     report.local_rank,
                     report.pid,
                     report.host,
                     describe(report.status));
}

FailureReport Agent::describe_failure(const WorkerFailure& failure) const {
  FailureReport report;
  report.entry_name = context_.command.entry_name;
  report.time = failure_time_;
  report.host = host_name();
  report.rank = view_.ranks.first_rank + failure.local_rank;
  report.local_rank = failure.local_rank;
  report.pid = workers_->pid(failure.local_rank);
  report.status = failure.status;
  const std::string error_file = context_.log_dir.error_file(failure.local_rank);
  if (exists(error_file)) report.error_file = error_file;
  report.last_lines = workers_->last_lines(failure.local_rank);
  report.interpreter = context_.command.interpreter;
  return report;
}

void Agent::perform(const action::Report& what) {
  calls_.spawn(report(what));
}

asio::awaitable<void> Agent::report(action::Report what) {
  auto verdict =
      co_await context_.rendezvous.report(what.view, what.outcome, Clock::now() + kReportLimit);
  if (verdict) {
    post(event::VerdictGiven{*verdict});
  } else {
    fail(std::move(verdict.error()));
  }
}

void Agent::perform(const action::Leave&) {
  const auto& failure = state_.ending().failure;
  if (failure) failure_text_ = format_failure(describe_failure(*failure));
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
