// SPDX-License-Identifier: Apache-2.0
#include "agent/process_table.h"

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

namespace rankrun::agent {
namespace {

std::optional<ProcessEntry> find(pid_t pid) {
  std::optional<ProcessEntry> found;
  for_each_process("/proc", [&](const ProcessEntry& entry) {
    if (entry.pid == pid) found = entry;
  });
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
  CHECK_FALSE(entry->is_zombie);

  ::kill(child, SIGKILL);
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  entry = find(child);
  REQUIRE(entry);
  CHECK(entry->is_zombie);

  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(find(child));
}

}  // namespace
}  // namespace rankrun::agent
