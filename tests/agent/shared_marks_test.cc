// SPDX-License-Identifier: Apache-2.0
#include "agent/shared_marks.h"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <vector>

namespace rankrun::agent {
namespace {

SharedMarks some_marks() {
  return {Marks{"abc", {}, 1000, 77}, "/cg/own", std::nullopt};
}

TEST_CASE("an attempt's leaders and cgroup are forgotten with it", "[agent][marks]") {
  SharedMarks marks = some_marks();
  CHECK_FALSE(marks.has_leaders());
  *marks.free_place() = 11;
  marks.free_place();  // whose worker did not start
  *marks.free_place() = 12;
  CHECK(marks.has_leaders());
  Remains remains = marks.remains();
  CHECK(remains.marks.leaders == std::vector<pid_t>{11, 12});
  CHECK(remains.marks.mark == "abc");
  CHECK(remains.marks.uid == 1000);
  CHECK(remains.marks.since == 77);
  CHECK(remains.cgroup == "/cg/own/rankrun-abc-0");
  CHECK_FALSE(remains.memory_cgroup);

  marks.next_attempt();
  CHECK_FALSE(marks.has_leaders());
  remains = marks.remains();
  CHECK(remains.marks.leaders.empty());
  CHECK(remains.cgroup == "/cg/own/rankrun-abc-1");
}

TEST_CASE("a process that was forked sees what comes later", "[agent][marks]") {
  SharedMarks marks = some_marks();
  const pid_t child = ::fork();
  if (child == 0) {
    *marks.free_place() = 4711;
    marks.next_attempt();
    *marks.free_place() = 4712;
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  CHECK(marks.remains().marks.leaders == std::vector<pid_t>{4712});
  CHECK(marks.remains().cgroup == "/cg/own/rankrun-abc-1");
}

TEST_CASE("there is a place for every worker up to the last", "[agent][marks]") {
  SharedMarks marks = some_marks();
  std::set<std::atomic<pid_t>*> places;
  while (auto* place = marks.free_place()) {
    places.insert(place);
  }
  CHECK(places.size() == 65536);
}

}  // namespace
}  // namespace rankrun::agent
