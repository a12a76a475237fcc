// SPDX-License-Identifier: Apache-2.0
#include "agent/process_table.h"

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <optional>
#include <string>

namespace rankrun::agent {
namespace {

std::optional<ProcessEntry> find(pid_t pid) {
  std::optional<ProcessEntry> found;
  for_each_process("/proc", [&](const ProcessEntry& entry) {
    if (entry.pid == pid) found = entry;
  });
  CHECK(found.has_value() == find_process("/proc", pid).has_value());
  return found;
}

TEST_CASE("the process table tells parents, groups and zombies", "[agent][process]") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED) == 0);
  auto entry = find(child);
  REQUIRE(entry);
  CHECK(entry->parent == ::getpid());
  CHECK(entry->group == child);
  CHECK(entry->session == ::getsid(0));
  CHECK(entry->state == 'T');
  CHECK(entry->started >= find(::getpid())->started);
  CHECK(entry->name == find(::getpid())->name);
  CHECK_FALSE(entry->is_zombie());
  CHECK(user_of("/proc", child) == ::getuid());

  ::kill(child, SIGKILL);
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  entry = find(child);
  REQUIRE(entry);
  CHECK(entry->is_zombie());

  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(find(child));
  CHECK_FALSE(find_process("/proc", child));
  CHECK_FALSE(user_of("/proc", child));
}

TEST_CASE("a process may have any name", "[agent][process]") {
  const std::string rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
  for (const std::string name : {"sh", "", "a b", "Z (x) R", ") S 9 9 9", "\n"}) {
    INFO(name);
    std::string stat = "12 (";
    stat.append(name).append(")").append(rest);
    const auto entry = parse_process(stat);
    REQUIRE(entry);
    CHECK(entry->pid == 12);
    CHECK(entry->name == name);
    CHECK(entry->state == 'S');
    CHECK(entry->parent == 1);
    CHECK(entry->group == 2);
    CHECK(entry->session == 3);
    CHECK(entry->started == 4711);
  }
}

TEST_CASE("a text that is no process is none", "[agent][process]") {
  const std::string whole = "12 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711";
  REQUIRE(parse_process(whole));
  for (std::size_t size = 0; size + 4 < whole.size(); ++size) {
    INFO(size);
    CHECK_FALSE(parse_process(whole.substr(0, size)));
  }
  CHECK_FALSE(parse_process(") 12 (sh S 1 2 3"));
  CHECK_FALSE(parse_process("x (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711"));
}

TEST_CASE("a process's line may have any name and needs all of its fields", "[agent][process]") {
  const std::string line =
      "42 (a) (b c) S 7 40 41 0 -1 4194304 11 12 13 14 100 20 3 4 20 0 1 0 9876 1 2";
  const auto entry = parse_process(line);
  REQUIRE(entry);
  CHECK(entry->pid == 42);
  CHECK(entry->name == "a) (b c");
  CHECK(entry->state == 'S');
  CHECK(entry->parent == 7);
  CHECK(entry->group == 40);
  CHECK(entry->session == 41);
  CHECK(entry->cpu_ticks == 127);
  CHECK(entry->started == 9876);
  for (std::size_t size = 0; size < line.find(" 9876"); ++size) {
    CHECK_FALSE(parse_process(line.substr(0, size)));
  }
  CHECK_FALSE(parse_process("42 (x) S a 40 41"));
}

}  // namespace
}  // namespace rankrun::agent
