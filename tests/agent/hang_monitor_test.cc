// SPDX-License-Identifier: Apache-2.0
#include "agent/hang_monitor.h"

#include "agent/process_posix.h"
#include "store/base/async.h"
#include "tests/support/pipe.h"
#include "tests/support/run_loop.h"
#include "tests/support/silent_log.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <fstream>
#include <optional>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;

void no_trouble(const base::Error& error) {
  FAIL(error.message());
}

// Workers that are shell scripts, and no tool to look into them.
struct Setup {
  Setup() {
    config.hang_timeout = std::chrono::milliseconds(200);
    config.environment = {{"PATH", "/nonexistent"}};
    REQUIRE(log_dir.open_attempt(2));
  }

  // Runs until a hang is found or `most` is over.
  std::optional<Hang> watch(const std::vector<std::string>& scripts, base::Duration most) {
    OutputContext context{.consoles = consoles,
                          .config = config,
                          .log_dir = log_dir,
                          .log = tests::silent_log(),
                          .host = "host",
                          .first_rank = 4};
    WorkerGroup workers(
        loop.get_executor(),
        runner,
        AttemptOutput(loop.get_executor(), std::move(context)),
        [](int, ExitStatus) {},
        no_trouble);
    std::vector<ProcessSpec> specs;
    for (const std::string& script : scripts) {
      ProcessSpec spec;
      spec.executable = "/bin/sh";
      spec.arguments = {"sh", "-c", script};
      specs.push_back(std::move(spec));
    }
    const auto started = workers.start(std::move(specs));
    REQUIRE(started);
    tests::run_loop(loop, run(workers, most));
    return found;
  }

  asio::awaitable<void> run(WorkerGroup& workers, base::Duration most) {
    asio::steady_timer done(loop, most);
    HangContext context{.config = config,
                        .log_dir = log_dir,
                        .workers = workers,
                        .runner = runner,
                        .console = consoles.err.console(),
                        .log = tests::silent_log(),
                        .first_rank = 4};
    HangMonitor monitor(
        loop.get_executor(),
        std::move(context),
        [&](Hang hang) {
          found = std::move(hang);
          done.cancel();
        },
        no_trouble);
    co_await done.async_wait(base::kUseTuple);
    monitor.stop();
    co_await monitor.join();
    const auto ended = co_await workers.end(base::Clock::now() + std::chrono::seconds(20));
    CHECK(ended);
    co_await consoles.out.close(base::Duration::zero());
    co_await consoles.err.close(base::Duration::zero());
  }

  asio::io_context loop{1};
  tests::Pipe out;
  tests::Pipe err;
  Consoles consoles{loop.get_executor(), false, out.write_end.get(), err.write_end.get()};
  tests::TempDir folder;
  LaunchConfig config;
  LogDir log_dir = std::move(*LogDir::create(folder.path().string(), "", "job"));
  Containment containment =
      Containment::create(CgroupUse::automatic, false, tests::silent_log()).value();
  PosixProcessRunner runner{loop.get_executor(), containment};
  std::optional<Hang> found;
};

TEST_CASE("workers that sleep are found, and what each does is shown", "[agent][hang]") {
  Setup setup;
  const auto hang =
      setup.watch({"echo words; exec sleep 1000", "exec sleep 1000"}, std::chrono::seconds(30));
  REQUIRE(hang);
  CHECK(hang->local_ranks == std::vector<int>{0, 1});
  CHECK(hang->silence >= std::chrono::milliseconds(200));
  const std::string shown = setup.err.read_available();
  CHECK_THAT(shown, Catch::Contains("rank 4 (local rank 0, pid "));
  CHECK_THAT(shown, Catch::Contains("rank 5 (local rank 1, pid "));
  CHECK_THAT(shown, Catch::Contains("kernel    : asleep"));
  CHECK_THAT(shown, Catch::Contains(" s ago: words\n"));
  CHECK_THAT(shown, Catch::Contains("neither py-spy nor gdb in PATH"));
  CHECK(setup.out.read_available() == "words\n");
}

TEST_CASE("CPU time of children that end counts as their parent's", "[agent][hang]") {
  Setup setup;
  const std::string script = "while :; do (i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done); done";
  CHECK_FALSE(setup.watch({script}, std::chrono::seconds(1)));
}

TEST_CASE("a heartbeat that is not repeated is a hang of its sender alone", "[agent][hang]") {
  Setup setup;
  std::ofstream(setup.log_dir.heartbeat_file(1)) << "alive";
  const auto hang =
      setup.watch({"while :; do :; done", "while :; do :; done"}, std::chrono::seconds(30));
  REQUIRE(hang);
  CHECK(hang->local_ranks == std::vector<int>{1});
  CHECK_THAT(setup.err.read_available(), Catch::Contains("waits or works"));
}

}  // namespace
}  // namespace rankrun::agent
