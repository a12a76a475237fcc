// SPDX-License-Identifier: Apache-2.0
#include "agent/event_log.h"

#include "tests/support/job_reports.h"
#include "tests/support/pipe.h"
#include "tests/support/run_loop.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>
#include <spdlog/sinks/ostream_sink.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace rankrun::agent {
namespace {

using Catch::Contains;

// A log that is kept, and a console that writes into a pipe.
struct Setup {
  EventTargets file_target(const std::string& path) const {
    EventTargets targets;
    targets.path = path;
    return targets;
  }

  std::size_t log_lines() const {
    const std::string text = log_text.str();
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  JobFacts job = tests::some_job();
  std::ostringstream log_text;
  base::Logger log = base::make_logger(
      "test", spdlog::level::warn, std::make_shared<spdlog::sinks::ostream_sink_mt>(log_text));
  boost::asio::io_context loop{1};
  tests::Pipe pipe;
  Console console{loop.get_executor(), pipe.write_end.get()};
  tests::TempDir dir;
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("events are appended to a file as they come", "[agent][event_log]") {
  Setup setup;
  const std::string path = setup.dir.file("events", "of an earlier job\n");
  EventLog events(setup.job, setup.file_target(path), setup.log);
  CHECK_THAT(read(path), Catch::StartsWith("of an earlier job\n{\"event\":\"job_start\""));
  events.write(change::WorkersStopped{SIGTERM});
  CHECK_THAT(read(path), Contains("\n{\"event\":\"stop\",") && !Contains("\"attempt\""));
  events.write(change::AttemptStarted{});
  events.write(change::RestartDecided{});
  CHECK_THAT(read(path), Contains("\n{\"event\":\"restart\",") && Contains("\"attempt\":0"));
  CHECK(setup.log_lines() == 0);
}

TEST_CASE("both forms reach their consoles", "[agent][event_log]") {
  Setup setup;
  tests::Pipe out_pipe;
  Console out(setup.loop.get_executor(), out_pipe.write_end.get());
  EventLog events(setup.job, EventTargets{&setup.console, &out, ""}, setup.log);
  events.write(change::JobEnded{JobResult::succeeded, 0, ""});
  CHECK_THAT(out_pipe.read_available(), Contains("job_start") && Contains("\"result\""));
  CHECK_THAT(setup.pipe.read_available(), Catch::StartsWith("{\"name\":\"torchelastic."));
  tests::run_loop(setup.loop, out.close(base::Duration::zero()));
}

TEST_CASE("without targets nothing happens", "[agent][event_log]") {
  Setup setup;
  EventLog events(setup.job, {}, setup.log);
  events.write(change::RestartDecided{});
  CHECK(setup.pipe.read_available().empty());
  CHECK(setup.log_lines() == 0);
}

TEST_CASE("a file that cannot be opened or is full costs one line", "[agent][event_log]") {
  Setup setup;
  std::string path;
  std::string why;
  SECTION("its folder is missing") {
    path = setup.dir.path() / "no" / "events";
    why = "No such file";
  }
  SECTION("it is a folder") {
    path = setup.dir.path();
    why = "Is a directory";
  }
  SECTION("it is full") {
    path = "/dev/full";
    why = "No space left";
  }
  SECTION("it is a pipe that nobody reads") {
    path = setup.dir.path() / "pipe";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    why = "No such device";
  }
  EventLog events(setup.job, setup.file_target(path), setup.log);
  events.write(change::RestartDecided{});
  events.write(change::RestartDecided{});
  CHECK(setup.log_lines() == 1);
  CHECK_THAT(setup.log_text.str(), Contains("'" + path + "'") && Contains(why));
}

TEST_CASE("a pipe that is not read is given up", "[agent][event_log]") {
  Setup setup;
  const std::string path = setup.dir.path() / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const base::UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EventLog events(setup.job, setup.file_target(path), setup.log);
  for (int i = 0; i < 1 << 16 && setup.log_lines() == 0; ++i) {
    events.write(change::RestartDecided{});
  }
  events.write(change::RestartDecided{});
  CHECK(setup.log_lines() == 1);
  CHECK_THAT(setup.log_text.str(), Contains("no more events"));
}

TEST_CASE("a console that is not read is given up", "[agent][event_log]") {
  Setup setup;
  EventLog events(setup.job, EventTargets{nullptr, &setup.console, ""}, setup.log);
  setup.console.write_line(std::string(2 * Console::kMostWaiting, 'x'));
  REQUIRE(setup.console.full());
  events.write(change::RestartDecided{});
  events.write(change::RestartDecided{});
  CHECK(setup.log_lines() == 1);
  CHECK_THAT(setup.log_text.str(), Contains("nobody reads"));
  tests::run_loop(setup.loop, setup.console.close(base::Duration::zero()));
}

}  // namespace
}  // namespace rankrun::agent
