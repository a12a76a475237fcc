// SPDX-License-Identifier: Apache-2.0
#include "agent/worker_output.h"

#include "tests/support/pipe.h"
#include "tests/support/run_loop.h"
#include "tests/support/silent_log.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

void write_text(int fd, std::string_view text) {
  REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Setup {
  asio::io_context loop{1};
  tests::Pipe out;
  tests::Pipe err;
  Consoles consoles{loop.get_executor(), false, out.write_end.get(), err.write_end.get()};
  tests::TempDir dir;
  LaunchConfig config;
  LogDir log_dir = std::move(*LogDir::create((dir.path() / "logs").string(), "", "job"));

  AttemptOutput attempt() {
    REQUIRE(log_dir.open_attempt(2));
    OutputContext context{.consoles = consoles,
                          .config = config,
                          .log_dir = log_dir,
                          .log = tests::silent_log(),
                          .host = "host",
                          .first_rank = 4};
    return {loop.get_executor(), std::move(context)};
  }
  // What throws here ends the test, as it should.
  ~Setup() {  // NOLINT(bugprone-exception-escape)
    tests::run_loop(loop, consoles.out.close(base::Duration::zero()));
    loop.restart();
    tests::run_loop(loop, consoles.err.close(base::Duration::zero()));
  }
};

TEST_CASE("by default a worker has our stdout and its stderr is shown as it is",
          "[agent][output]") {
  Setup setup;
  ProcessSpec spec;
  auto output = setup.attempt().open(0, spec);
  REQUIRE(output);
  CHECK(spec.stdout_fd == -1);
  write_text(spec.stderr_fd, "help\nme");
  output->drain();
  CHECK(setup.err.read_available() == "help\nme");
  CHECK(output->last_lines() == std::vector<std::string>{"help", "me"});
  output->finish();
}

TEST_CASE("tee'd and redirected streams have files, and stderr is remembered", "[agent][output]") {
  Setup setup;
  setup.config.output.tee.of_every_worker = Streams::out;
  setup.config.output.redirects.of_every_worker = Streams::both;
  setup.config.output.line_prefix = "${local_rank}/${rank}/${role_name}:";
  ProcessSpec spec;
  auto output = setup.attempt().open(1, spec);
  REQUIRE(output);
  write_text(spec.stdout_fd, "shown\n");
  write_text(spec.stderr_fd, "not shown\n");
  output->finish();
  CHECK(setup.out.read_available() == "1/5/default:shown\n");
  CHECK(setup.err.read_available().empty());
  CHECK(content(setup.log_dir.log_file(1, Stream::out)) == "shown\n");
  CHECK(content(setup.log_dir.log_file(1, Stream::err)) == "not shown\n");
  CHECK(output->last_lines() == std::vector<std::string>{"not shown"});
}

TEST_CASE("where hangs are looked for, the last line of both streams is known with its time",
          "[agent][output]") {
  Setup setup;
  setup.config.hang_timeout = std::chrono::seconds(1);
  auto attempt = setup.attempt();
  ProcessSpec spec;
  auto output = attempt.open(0, spec);
  REQUIRE(output);
  const base::TimePoint now = base::Clock::now();
  CHECK(output->written_at(now) == base::TimePoint());
  CHECK(output->last_line().empty());
  write_text(spec.stderr_fd, "first\n");
  output->drain();
  CHECK(output->written_at(now) >= now);
  CHECK(output->last_line() == "first");
  write_text(spec.stdout_fd, "second\nthird");
  output->drain();
  CHECK(output->last_line() == "third");
  output->finish();
  CHECK(setup.out.read_available() == "second\nthird");
}

TEST_CASE("a rank that may not reach the console writes to nowhere", "[agent][output]") {
  Setup setup;
  setup.config.output.console_ranks = {1};
  ProcessSpec spec;
  auto attempt = setup.attempt();
  auto output = attempt.open(0, spec);
  REQUIRE(output);
  struct stat status {};
  REQUIRE(::fstat(spec.stdout_fd, &status) == 0);
  CHECK(S_ISCHR(status.st_mode));
  write_text(spec.stderr_fd, "for the report\n");
  output->finish();
  CHECK(setup.err.read_available().empty());
  CHECK(output->last_lines() == std::vector<std::string>{"for the report"});
}

TEST_CASE("filtered lines of all workers are in one file", "[agent][output]") {
  Setup setup;
  setup.config.output.tee.of_every_worker = Streams::both;
  setup.config.output.stdout_filters = {"loss"};
  auto attempt = setup.attempt();
  for (const int local_rank : {0, 1}) {
    ProcessSpec spec;
    auto output = attempt.open(local_rank, spec);
    REQUIRE(output);
    write_text(spec.stdout_fd, "loss 1\nx\n");
    write_text(spec.stderr_fd, "loss 2\n");
    output->finish();
  }
  CHECK(content(setup.log_dir.filtered_file(Stream::out)) ==
        "[default0]:loss 1\n[default1]:loss 1\n");
  CHECK_FALSE(fs::exists(setup.log_dir.filtered_file(Stream::err)));
}

}  // namespace
}  // namespace rankrun::agent
