// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include "agent/errc.h"
#include "agent/exit_code.h"
#include "store/base/async.h"
#include "tests/support/fake_runner.h"
#include "tests/support/pipe.h"
#include "tests/support/run_loop.h"
#include "tests/support/silent_log.h"
#include "tests/support/temp_dir.h"

#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;
using rendezvous::Outcome;
using rendezvous::Verdict;
using rendezvous::View;
using rendezvous::ViewId;

// Hands out views and verdicts from a script, and remembers what it was told.
class FakeRendezvous final : public rendezvous::Rendezvous {
 public:
  explicit FakeRendezvous(int restarts) : restarts_(restarts) {}

  asio::awaitable<base::Result<View>> next_view(base::TimePoint) override {
    if (never_forms) {
      asio::steady_timer timer(co_await asio::this_coro::executor, base::TimePoint::max());
      co_await timer.async_wait(base::kUseTuple);
    }
    View view;
    view.id = ViewId{++views};
    view.ranks = rendezvous::assign_ranks(std::vector<rendezvous::Member>{{"default", 2}}).front();
    view.restart_count = static_cast<int>(views) - 1;
    co_return view;
  }

  asio::awaitable<base::Result<Verdict>> report(ViewId, Outcome outcome, base::TimePoint) override {
    outcomes.push_back(outcome);
    if (outcome == Outcome::succeeded) co_return Verdict::finish;
    co_return restarts_-- > 0 ? Verdict::restart : Verdict::give_up;
  }

  asio::awaitable<base::Result<void>> leave(base::TimePoint) override {
    ++leaves;
    co_return base::Result<void>();
  }

  bool never_forms = false;
  unsigned views = 0;
  int leaves = 0;
  std::vector<Outcome> outcomes;

 private:
  int restarts_;
};

LaunchConfig two_workers(int restarts) {
  LaunchConfig config;
  config.local_world_size = 2;
  config.max_restarts = restarts;
  return config;
}

// An agent of two fake workers on one loop.
struct Setup {
  explicit Setup(int restarts = 0) : config(two_workers(restarts)), rendezvous(restarts) {
    command.executable = "/bin/worker";
    command.arguments = {"worker", "--rank=${local_rank}"};
    runner.reactions = {{SIGTERM, ExitStatus::signaled(SIGTERM, false)}};
  }

  // Runs the agent; `script` runs beside it.
  Ending run(asio::awaitable<void> script) {
    asio::co_spawn(loop, std::move(script), [](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
    });
    tests::run_loop(loop, run_agent());
    return ending;
  }

  asio::awaitable<void> run_agent() {
    ending = co_await agent.run();
    co_await consoles.out.close(base::Duration::zero());
    co_await consoles.err.close(base::Duration::zero());
  }

  std::vector<std::string> event_names() const {
    std::vector<std::string> names;
    std::ifstream file(events_file);
    for (std::string line; std::getline(file, line);) {
      names.push_back(nlohmann::json::parse(line)["event"]);
    }
    return names;
  }

  // Returns once the workers of this start have been started.
  asio::awaitable<void> until_started(std::size_t count) {
    while (runner.records.size() < count) {
      co_await asio::post(loop, base::kUseTuple);
    }
  }

  asio::io_context loop{1};
  LaunchConfig config;
  WorkerCommand command;
  FakeRendezvous rendezvous;
  tests::FakeRunner runner{loop.get_executor()};
  tests::Pipe console_pipe;
  Consoles consoles{
      loop.get_executor(), false, console_pipe.write_end.get(), console_pipe.write_end.get()};
  LogDir log_dir = *LogDir::create("/dev/null", "/tmp", "id");
  JobFacts job;
  tests::TempDir folder;
  std::string events_file = folder.path() / "events";
  EventLog events{job, EventTargets{nullptr, nullptr, events_file}, tests::silent_log()};
  Agent agent{loop.get_executor(),
              AgentContext{config,
                           command,
                           {},
                           rendezvous,
                           runner,
                           consoles,
                           log_dir,
                           false,
                           job,
                           events,
                           tests::silent_log()}};
  Ending ending;
};

asio::awaitable<void> both_succeed(Setup& setup) {
  co_await setup.until_started(2);
  setup.runner.records[0]->exit(ExitStatus::exited(0));
  setup.runner.records[1]->exit(ExitStatus::exited(0));
}

asio::awaitable<void> first_fails_then_both_succeed(Setup& setup) {
  co_await setup.until_started(2);
  setup.runner.records[1]->exit(ExitStatus::signaled(SIGKILL, false));
  co_await setup.until_started(4);
  setup.runner.records[2]->exit(ExitStatus::exited(0));
  setup.runner.records[3]->exit(ExitStatus::exited(0));
}

asio::awaitable<void> second_exits_with(Setup& setup, int code) {
  co_await setup.until_started(2);
  setup.runner.records[1]->exit(ExitStatus::exited(code));
}

asio::awaitable<void> stop_with(Setup& setup, std::size_t started, std::vector<int> signals) {
  co_await setup.until_started(started);
  for (const int signal : signals) {
    setup.agent.on_signal(signal);
  }
}

asio::awaitable<void> nothing() {
  co_return;
}

TEST_CASE("an agent whose workers all succeed ends with success", "[agent]") {
  Setup setup;
  const Ending ending = setup.run(both_succeed(setup));
  CHECK(exit_code(ending, ExitCodeStyle::worker) == 0);
  CHECK(setup.rendezvous.outcomes == std::vector{Outcome::succeeded});
  CHECK(setup.rendezvous.leaves == 1);
  CHECK(setup.agent.report().result() == JobResult::succeeded);
  REQUIRE(setup.runner.records.size() == 2);
  for (const auto& record : setup.runner.records) {
    CHECK(record->group_ended);  // children that a worker left behind are gone, too
  }
  const auto& spec = setup.runner.records[1]->spec;
  CHECK(spec.executable == "/bin/worker");
  CHECK(spec.arguments == std::vector<std::string>{"worker", "--rank=1"});
  CHECK(std::count(spec.environment.begin(), spec.environment.end(), "RANK=1") == 1);
}

TEST_CASE("a failure ends the whole group before all of it starts again", "[agent]") {
  Setup setup(1);
  const Ending ending = setup.run(first_fails_then_both_succeed(setup));
  CHECK(exit_code(ending, ExitCodeStyle::worker) == 0);
  CHECK(setup.rendezvous.outcomes == std::vector{Outcome::failed, Outcome::succeeded});
  REQUIRE(setup.runner.records.size() == 4);
  CHECK(setup.runner.records[0]->signals.front() == SIGTERM);
  CHECK(setup.runner.records[0]->group_ended);
  CHECK(setup.runner.records[1]->group_ended);
}

TEST_CASE("without a restart left the first failure is the result", "[agent]") {
  Setup setup;
  const Ending ending = setup.run(second_exits_with(setup, 7));
  CHECK(exit_code(ending, ExitCodeStyle::worker) == 7);
  const JobReport report = setup.agent.report();
  CHECK(report.result() == JobResult::failed);
  CHECK(report.exit_code == 7);
  REQUIRE(report.workers.size() == 2);
  CHECK(&report.workers[0] == report.root_cause());
  CHECK(report.workers[0].rank == 1);
  CHECK(report.workers[0].pid == 1001);
  CHECK(report.workers[0].outcome() == WorkerOutcome::failed);
  CHECK(report.workers[1].rank == 0);
  CHECK(report.workers[1].outcome() == WorkerOutcome::stopped);
  CHECK(report.workers[1].end->stop_signal == SIGTERM);
}

TEST_CASE("a report has the workers of the last attempt only", "[agent]") {
  Setup setup(1);
  setup.run(first_fails_then_both_succeed(setup));
  const JobReport report = setup.agent.report();
  CHECK(report.restarts == 1);
  REQUIRE(report.workers.size() == 2);
  CHECK(report.workers[0].pid == 1002);
  CHECK(report.workers[1].outcome() == WorkerOutcome::succeeded);
  CHECK(report.root_cause() == nullptr);
}

TEST_CASE("every change of an agent's state is an event", "[agent]") {
  Setup setup(1);
  setup.run(first_fails_then_both_succeed(setup));
  CHECK(setup.event_names() == std::vector<std::string>{"job_start",
                                                        "attempt_start",
                                                        "worker_start",
                                                        "worker_start",
                                                        "worker_exit",
                                                        "stop",
                                                        "worker_exit",
                                                        "restart",
                                                        "attempt_start",
                                                        "worker_start",
                                                        "worker_start",
                                                        "worker_exit",
                                                        "worker_exit"});
}

asio::awaitable<void> first_ends_while_asked(Setup& setup, std::vector<HealthFacts>& seen) {
  seen.push_back(setup.agent.health());
  co_await setup.until_started(2);
  seen.push_back(setup.agent.health());
  setup.runner.records[0]->exit(ExitStatus::exited(0));
  while (setup.agent.health().workers_live == 2) {
    co_await asio::post(setup.loop, base::kUseTuple);
  }
  seen.push_back(setup.agent.health());
  setup.runner.records[1]->exit(ExitStatus::exited(0));
}

TEST_CASE("an agent tells its health in every phase", "[agent][health]") {
  Setup setup;
  setup.config.run_id = "job7";
  std::vector<HealthFacts> seen;
  setup.run(first_ends_while_asked(setup, seen));
  seen.push_back(setup.agent.health());
  CHECK(seen == std::vector<HealthFacts>{{Phase::joining, "job7", 0, 2, 0},
                                         {Phase::running, "job7", 0, 2, 2},
                                         {Phase::running, "job7", 0, 2, 1},
                                         {Phase::ended, "job7", 0, 2, 0}});
}

TEST_CASE("workers that ignore SIGTERM are killed after the shutdown timeout", "[agent]") {
  Setup setup;
  setup.runner.reactions.clear();
  setup.config.shutdown_timeout = std::chrono::seconds(0);
  const Ending ending = setup.run(second_exits_with(setup, 7));
  CHECK(exit_code(ending, ExitCodeStyle::worker) == 7);
  const auto& signals = setup.runner.records[0]->signals;
  REQUIRE(signals.size() >= 2);
  CHECK(signals[0] == SIGTERM);
  CHECK(signals[1] == SIGKILL);
  const JobReport report = setup.agent.report();
  REQUIRE(report.workers.size() == 2);
  CHECK(report.workers[1].outcome() == WorkerOutcome::stopped);
  CHECK(report.workers[1].end->stop_signal == SIGKILL);
}

TEST_CASE("a stop request passes its signal on and is the result", "[agent]") {
  Setup setup(5);
  setup.runner.reactions.insert_or_assign(SIGINT, ExitStatus::exited(0));
  const Ending ending = setup.run(stop_with(setup, 2, {SIGINT}));
  CHECK(exit_code(ending, ExitCodeStyle::worker) == 130);
  CHECK(setup.runner.records.size() == 2);
  CHECK(setup.runner.records[0]->signals.front() == SIGINT);
  CHECK(setup.rendezvous.outcomes.empty());
  CHECK(setup.rendezvous.leaves == 1);
}

TEST_CASE("a second stop request kills at once", "[agent]") {
  Setup setup;
  setup.runner.reactions.clear();
  const Ending ending = setup.run(stop_with(setup, 2, {SIGTERM, SIGTERM}));
  CHECK(exit_code(ending, ExitCodeStyle::worker) == 143);
}

TEST_CASE("a stop request ends a rendezvous that does not form", "[agent]") {
  Setup setup;
  setup.rendezvous.never_forms = true;
  const Ending ending = setup.run(stop_with(setup, 0, {SIGTERM}));
  CHECK(exit_code(ending, ExitCodeStyle::worker) == 143);
  CHECK(setup.runner.records.empty());
}

TEST_CASE("a worker that cannot be started ends those before it", "[agent]") {
  Setup setup(3);
  setup.runner.failing_start = 1;
  setup.runner.start_error = {make_error_code(errc::program_not_executable), "x", ""};
  const Ending ending = setup.run(nothing());
  CHECK(exit_code(ending, ExitCodeStyle::worker) == 126);
  REQUIRE(setup.runner.records.size() == 1);
  CHECK(setup.runner.records[0]->group_ended);
}

TEST_CASE("workers that SIGKILL does not end prevent a restart over them", "[agent]") {
  Setup setup(3);
  setup.runner.stuck = base::Error{make_error_code(errc::workers_stuck), "group 1000", ""};
  const Ending ending = setup.run(second_exits_with(setup, 7));
  CHECK(exit_code(ending, ExitCodeStyle::worker) == 1);
  REQUIRE(ending.error);
  CHECK(ending.error->code == errc::workers_stuck);
  CHECK(setup.runner.records.size() == 2);
  const JobReport report = setup.agent.report();
  REQUIRE(report.workers.size() == 2);
  CHECK(report.workers[0].rank == 1);
}

}  // namespace
}  // namespace rankrun::agent
