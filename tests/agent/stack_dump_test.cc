// SPDX-License-Identifier: Apache-2.0
#include "agent/stack_dump.h"

#include "agent/process_posix.h"
#include "tests/support/run_loop.h"
#include "tests/support/silent_log.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

TEST_CASE("Python is looked into by py-spy, other programs by gdb", "[agent][stack]") {
  const tests::TempDir folder;
  const Environment environment{{"PATH", folder.path()}};
  CHECK(stack_command(7, "/usr/bin/python3", environment).empty());
  const std::string gdb = folder.file("gdb", "", fs::perms::owner_all);
  for (const char* program : {"/usr/bin/python3", "/bin/sh", ""}) {
    const auto command = stack_command(7, program, environment);
    REQUIRE_FALSE(command.empty());
    CHECK(command.front() == gdb);
    CHECK(std::count(command.begin(), command.end(), "7") == 1);
  }
  const std::string py_spy = folder.file("py-spy", "", fs::perms::owner_all);
  CHECK(stack_command(7, "/usr/bin/python3.12", environment) ==
        std::vector<std::string>{py_spy, "dump", "--pid", "7"});
  CHECK(stack_command(7, "/bin/sh", environment).front() == gdb);
}

// What is read of a shell script in the place of a tool.
std::string text_of(const std::string& script, base::Duration limit) {
  asio::io_context loop(1);
  auto containment = Containment::create(CgroupUse::automatic, false, tests::silent_log());
  REQUIRE(containment);
  PosixProcessRunner runner(loop.get_executor(), *containment);
  auto dump = StackDump::start(loop.get_executor(), runner, {"/bin/sh", "-c", script}, {});
  REQUIRE(dump);
  std::string text;
  const auto read =
      [](StackDump& from, std::string& into, base::TimePoint until) -> asio::awaitable<void> {
    into = co_await from.text(until);
  };
  tests::run_loop(loop, read(*dump, text, base::Clock::now() + limit));
  return text;
}

TEST_CASE("what a tool prints on either stream is its text", "[agent][stack]") {
  CHECK(text_of("echo one; echo two >&2; exit 3", std::chrono::seconds(20)) == "one\ntwo\n");
}

TEST_CASE("a tool that does not end is killed at the deadline", "[agent][stack]") {
  CHECK(text_of("exec sleep 1000", std::chrono::milliseconds(20)) ==
        "\n... (killed here: it took too long)\n");
}

TEST_CASE("a tool that prints without end is cut", "[agent][stack]") {
  const std::string text = text_of("while :; do echo xxxxxxx; done", std::chrono::seconds(20));
  CHECK(text.size() < StackDump::kMostBytes + 100);
  CHECK(text.size() > StackDump::kMostBytes);
  CHECK_THAT(text, Catch::EndsWith("\n... (cut here)\n"));
}

TEST_CASE("a tool that cannot be started is a failure", "[agent][stack]") {
  asio::io_context loop(1);
  auto containment = Containment::create(CgroupUse::automatic, false, tests::silent_log());
  REQUIRE(containment);
  PosixProcessRunner runner(loop.get_executor(), *containment);
  CHECK_FALSE(StackDump::start(loop.get_executor(), runner, {"/nonexistent"}, {}));
}

}  // namespace
}  // namespace rankrun::agent
