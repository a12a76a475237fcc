// SPDX-License-Identifier: Apache-2.0
#include "agent/sweep.h"

#include "tests/support/marked_process.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace rankrun::agent {
namespace {

using tests::MarkedProcess;
using namespace std::string_literals;

TEST_CASE("a mark is one of those that the variable joins", "[agent][sweep]") {
  CHECK(has_mark("A=b\0RANKRUN_MARK=abc\0C=d\0"s, "abc"));
  CHECK(has_mark("RANKRUN_MARK=outer:abc:inner"s, "abc"));
  CHECK(has_mark("RANKRUN_MARKS=xyz\0RANKRUN_MARK=abc"s, "abc"));
  CHECK_FALSE(has_mark(""s, "abc"));
  CHECK_FALSE(has_mark("RANKRUN_MARK"s, "abc"));
  CHECK_FALSE(has_mark("RANKRUN_MARK="s, "abc"));
  CHECK_FALSE(has_mark("RANKRUN_MARK=abcd"s, "abc"));
  CHECK_FALSE(has_mark("RANKRUN_MARK=xabc:ab:c"s, "abc"));
  CHECK_FALSE(has_mark("X=RANKRUN_MARK=abc\0NOT_RANKRUN_MARK=abc"s, "abc"));
}

// A process table as procfs shows it, with numbers that no kernel gives, so that nobody is killed.
class Table {
 public:
  static constexpr pid_t kFirst = 1 << 23;

  void put(int number, char state, pid_t session, int started, const std::string& environ = "") {
    put_threads(number, state, session, started, 1);
    dir_.file(std::to_string(kFirst + number) + "/environ", environ);
  }
  void put_threads(int number, char state, pid_t session, int started, int threads) {
    const std::string folder = std::to_string(kFirst + number);
    dir_.file(folder + "/stat",
              folder + " (sh) " + state + " 1 " + folder + " " + std::to_string(session) +
                  " 0 0 0 0 0 0 0 0 0 0 0 0 0 " + std::to_string(threads) + " 0 " +
                  std::to_string(started) + " 0");
    dir_.file(folder + "/status", "Name:\tsh\nUid:\t1000\t0\t0\t0\n");
  }
  void put_thread_environ(int number, const std::string& environ) {
    const std::string folder = std::to_string(kFirst + number);
    dir_.file(folder + "/environ", "");
    dir_.file(folder + "/task/" + folder + "/environ", "");
    dir_.file(folder + "/task/77/environ", environ);
  }
  std::vector<int> left(const Marks& marks) const {
    std::vector<int> numbers;
    for (const ProcessEntry& process : sweep(marks, SIGKILL, dir_.path())) {
      numbers.push_back(process.pid - kFirst);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

 private:
  tests::TempDir dir_;
};

TEST_CASE("ours are those of a worker's session or group, and those with the mark",
          "[agent][sweep]") {
  constexpr pid_t kLeader = Table::kFirst + 1;
  Table table;
  table.put(1, 'S', kLeader, 50);                         // the worker
  table.put(2, 'S', kLeader, 60);                         // in its session
  table.put(3, 'S', 77, 60, "RANKRUN_MARK=m"s);           // left the session
  table.put(4, 'S', 77, 60, "RANKRUN_MARK=other"s);       // of another launch
  table.put(5, 'Z', kLeader, 60);                         // dead
  table.put(6, 'S', kLeader, 49);                         // older than rankrun: a reused number
  table.put(7, 'D', 77, 60, "A=b\0RANKRUN_MARK=x:m\0"s);  // of a launch within ours
  Marks marks{"m", {kLeader}, 1000, 50};
  CHECK(table.left(marks) == std::vector{1, 2, 3, 7});

  marks.uid = 1001;  // the mark may be forged, a session cannot be
  CHECK(table.left(marks) == std::vector{1, 2});
}

TEST_CASE("a process lives on when its main thread has ended", "[agent][sweep]") {
  Table table;
  table.put_threads(1, 'Z', 77, 60, 2);
  table.put_thread_environ(1, "RANKRUN_MARK=m"s);
  table.put_threads(2, 'Z', 77, 60, 1);
  table.put_thread_environ(2, "RANKRUN_MARK=m"s);
  CHECK(table.left({"m", {}, 1000, 50}) == std::vector{1});
}

TEST_CASE("a group that has our terminal's session is ours by its worker", "[agent][sweep]") {
  Table table;
  table.put(1, 'S', 77, 60);
  table.put(2, 'S', 77, 60);
  CHECK(table.left({"m", {Table::kFirst + 2}, 1000, 50}) == std::vector{2});
}

TEST_CASE("without a process table nothing is left", "[agent][sweep]") {
  const tests::TempDir dir;
  CHECK(sweep({"m", {1}, 0, 0}, SIGKILL, dir.path() / "none").empty());
}

TEST_CASE("a marked process is killed wherever it went", "[agent][sweep]") {
  MarkedProcess ours("sweep-test-a");
  MarkedProcess other("sweep-test-b");
  const Marks marks{"sweep-test-a", {}, ::getuid(), 0};
  const auto left = sweep(marks, SIGKILL, "/proc");
  REQUIRE(left.size() == 1);
  CHECK(left.front().pid == ours.pid());
  CHECK(ours.wait() == SIGKILL);
  CHECK(sweep(marks, SIGKILL, "/proc").empty());  // a zombie until it is reaped
  CHECK(other.is_alive());
}

TEST_CASE("what is stopped can start nothing, and is killed all the same", "[agent][sweep]") {
  MarkedProcess first("sweep-test-e");
  MarkedProcess second("sweep-test-e");
  const Marks marks{"sweep-test-e", {}, ::getuid(), 0};
  stop_all(marks, "/proc");
  CHECK(first.is_alive());
  siginfo_t stop{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(first.pid()), &stop, WSTOPPED) == 0);
  REQUIRE(::waitid(P_PID, static_cast<id_t>(second.pid()), &stop, WSTOPPED) == 0);
  CHECK(sweep(marks, SIGKILL, "/proc").size() == 2);
  CHECK(first.wait() == SIGKILL);
  CHECK(second.wait() == SIGKILL);
}

TEST_CASE("a mark that a process of another user forged counts for nothing", "[agent][sweep]") {
  if (::getuid() != 0) {
    std::puts("SKIPPED: only root can start a process of another user");
    return;
  }
  constexpr uid_t kNobody = 65534;
  MarkedProcess forged("sweep-test-c", kNobody);
  CHECK(sweep({"sweep-test-c", {}, 0, 0}, SIGKILL, "/proc").empty());
  CHECK(forged.is_alive());
}

TEST_CASE("a process of another user in a worker's session is told of, not signalled",
          "[agent][sweep]") {
  if (::getuid() != 0) {
    std::puts("SKIPPED: only root can start a process of another user");
    return;
  }
  constexpr uid_t kNobody = 65534;
  MarkedProcess foreign("sweep-test-d", kNobody);
  const auto left = sweep({"none", {foreign.pid()}, 0, 0}, SIGKILL, "/proc");
  REQUIRE(left.size() == 1);
  CHECK(left.front().pid == foreign.pid());
  CHECK(foreign.is_alive());
}

}  // namespace
}  // namespace rankrun::agent
