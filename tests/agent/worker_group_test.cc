// SPDX-License-Identifier: Apache-2.0
#include "agent/worker_group.h"

#include "agent/errc.h"
#include "agent/process_posix.h"
#include "tests/support/fake_runner.h"
#include "tests/support/pipe.h"
#include "tests/support/run_loop.h"
#include "tests/support/silent_log.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <csignal>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;

base::TimePoint soon() {
  return base::Clock::now() + std::chrono::seconds(20);
}

std::vector<ProcessSpec> shells(const std::vector<std::string>& scripts) {
  std::vector<ProcessSpec> specs;
  for (const std::string& script : scripts) {
    ProcessSpec spec;
    spec.executable = "/bin/sh";
    spec.arguments = {"sh", "-c", script};
    specs.push_back(std::move(spec));
  }
  return specs;
}

void no_trouble(const base::Error& error) {
  FAIL(error.message());
}

struct Setup {
  asio::io_context loop{1};
  tests::Pipe pipe;
  Consoles consoles{loop.get_executor(), false, pipe.write_end.get(), pipe.write_end.get()};
  LaunchConfig config;
  LogDir log_dir = std::move(*LogDir::create("/dev/null", "", ""));
  tests::FakeRunner fakes{loop.get_executor()};

  AttemptOutput output() {
    OutputContext context{.consoles = consoles,
                          .config = config,
                          .log_dir = log_dir,
                          .log = tests::silent_log(),
                          .host = "host",
                          .first_rank = 0};
    return {loop.get_executor(), std::move(context)};
  }

  asio::awaitable<void> end(WorkerGroup& group, base::Result<void>& result) {
    result = co_await group.end(soon());
    co_await consoles.out.close(base::Duration::zero());
    co_await consoles.err.close(base::Duration::zero());
  }
};

TEST_CASE("every worker's end is told once, with its last stderr lines", "[agent][workers]") {
  Setup setup;
  auto containment = Containment::create(CgroupUse::automatic, false, tests::silent_log());
  REQUIRE(containment);
  PosixProcessRunner runner(setup.loop.get_executor(), *containment);
  std::vector<std::string> ends;
  base::Result<void> ended;
  WorkerGroup* running = nullptr;
  WorkerGroup group(
      setup.loop.get_executor(),
      runner,
      setup.output(),
      [&](int local_rank, ExitStatus status) {
        ends.push_back(std::to_string(local_rank) + ":" + std::to_string(status.code()));
        if (ends.size() < 2) return;
        asio::co_spawn(setup.loop, setup.end(*running, ended), [](std::exception_ptr error) {
          if (error) std::rethrow_exception(error);
        });
      },
      no_trouble);
  running = &group;
  REQUIRE(group.start(shells({"echo zero >&2; exit 3", "printf 'one\\ntwo' >&2"})));
  setup.loop.run();
  CHECK(ended);
  std::sort(ends.begin(), ends.end());
  CHECK(ends == std::vector<std::string>{"0:3", "1:0"});
  CHECK(group.output(0).last_lines() == std::vector<std::string>{"zero"});
  CHECK(group.output(1).last_lines() == std::vector<std::string>{"one", "two"});
}

TEST_CASE("ending a group kills every worker", "[agent][workers]") {
  Setup setup;
  WorkerGroup group(
      setup.loop.get_executor(), setup.fakes, setup.output(), [](int, ExitStatus) {}, no_trouble);
  REQUIRE(group.start(shells({"a", "b", "c"})));
  group.signal_all(SIGTERM);
  base::Result<void> ended;
  tests::run_loop(setup.loop, setup.end(group, ended));
  CHECK(ended);
  for (const auto& record : setup.fakes.records) {
    CHECK(record->signals.front() == SIGTERM);
    CHECK(record->group_ended);
  }
}

TEST_CASE("a stuck worker is reported and the others are ended all the same", "[agent][workers]") {
  Setup setup;
  setup.fakes.stuck = base::Error{make_error_code(errc::workers_stuck), "group 1000", ""};
  WorkerGroup group(
      setup.loop.get_executor(), setup.fakes, setup.output(), [](int, ExitStatus) {}, no_trouble);
  REQUIRE(group.start(shells({"a", "b"})));
  base::Result<void> ended;
  tests::run_loop(setup.loop, setup.end(group, ended));
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == errc::workers_stuck);
  CHECK(setup.fakes.records[1]->signals.back() == SIGKILL);
}

}  // namespace
}  // namespace rankrun::agent
