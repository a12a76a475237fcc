// SPDX-License-Identifier: Apache-2.0
#include "agent/keeper.h"

#include "agent/kernel_files.h"
#include "agent/process_table.h"
#include "store/base/clock.h"
#include "tests/support/marked_process.h"
#include "tests/support/pipe.h"
#include "tests/support/recorded_log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <tuple>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;
using tests::MarkedProcess;

SharedMarks marks_of(const std::string& mark) {
  return {Marks{mark, {}, ::getuid(), 0}, std::nullopt, std::nullopt};
}

std::string command_line(pid_t pid) {
  const auto text = read_kernel_file("/proc/" + std::to_string(pid) + "/cmdline").value_or("");
  return text.substr(0, text.find('\0'));
}

// Until the keeper has made itself at home.
void wait_until_named(pid_t keeper) {
  const auto give_up = base::Clock::now() + std::chrono::seconds(20);
  while (!command_line(keeper).starts_with("keeper of job") && base::Clock::now() < give_up) {
    ::poll(nullptr, 0, 1);
  }
}

TEST_CASE("a keeper has nothing that could end it with the agent", "[agent][keeper]") {
  const SharedMarks marks = marks_of("keeper-test-a");
  asio::io_context loop(1);
  auto keeper = Keeper::start(loop.get_executor(), marks);
  REQUIRE(keeper);
  wait_until_named(keeper->pid());
  const auto process = find_process("/proc", keeper->pid());
  REQUIRE(process);
  CHECK(process->session == keeper->pid());
  CHECK(process->name == "keeper");
  CHECK(command_line(keeper->pid()) == "keeper of job " + std::to_string(::getpid()));
  ::kill(keeper->pid(), SIGTERM);
  ::kill(keeper->pid(), SIGINT);
  ::kill(keeper->pid(), SIGHUP);
  CHECK_FALSE(find_process("/proc", keeper->pid())->is_zombie());
  const pid_t pid = keeper->pid();
  keeper->dismiss();
  { const Keeper gone = *std::move(keeper); }
  CHECK_FALSE(find_process("/proc", pid));
}

TEST_CASE("a keeper ends what its agent left behind", "[agent][keeper]") {
  const SharedMarks marks = marks_of("keeper-test-b");
  MarkedProcess ours("keeper-test-b");
  MarkedProcess other("keeper-test-c");
  tests::Pipe started;
  const pid_t agent = ::fork();
  if (agent == 0) {
    asio::io_context loop(1);
    const auto keeper = Keeper::start(loop.get_executor(), marks);
    if (keeper) std::ignore = ::write(started.write_end.get(), "!", 1);
    ::pause();
    ::_exit(0);
  }
  started.write_end.reset();
  char mark = 0;
  REQUIRE(::read(started.read_end.get(), &mark, 1) == 1);
  CHECK(ours.is_alive());
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  CHECK(ours.wait() == SIGKILL);
  CHECK(other.is_alive());
}

TEST_CASE("a keeper that somebody ends is replaced", "[agent][keeper]") {
  const SharedMarks marks = marks_of("keeper-test-d");
  asio::io_context loop(1);
  auto keeper = Keeper::start(loop.get_executor(), marks);
  REQUIRE(keeper);
  const pid_t first = keeper->pid();
  tests::RecordedLog log;
  asio::co_spawn(loop, keeper->replace_when_ended(log.log()), asio::detached);
  ::kill(first, SIGKILL);
  const auto give_up = base::Clock::now() + std::chrono::seconds(20);
  while (keeper->pid() == first && base::Clock::now() < give_up) {
    loop.run_one_for(std::chrono::seconds(1));
  }
  CHECK(keeper->pid() != first);
  CHECK_FALSE(find_process("/proc", first));
  CHECK_THAT(log.text(), Catch::Contains("started another one"));
  CHECK_FALSE(find_process("/proc", keeper->pid())->is_zombie());
  keeper->dismiss();
}

TEST_CASE("a keeper is not dismissed while workers are left", "[agent][keeper]") {
  SharedMarks marks = marks_of("keeper-test-e");
  asio::io_context loop(1);
  auto keeper = Keeper::start(loop.get_executor(), marks);
  REQUIRE(keeper);
  *marks.free_place() = 1 << 23;
  keeper->dismiss();
  CHECK_FALSE(find_process("/proc", keeper->pid())->is_zombie());
  marks.next_attempt();
  keeper->dismiss();
}

}  // namespace
}  // namespace rankrun::agent
