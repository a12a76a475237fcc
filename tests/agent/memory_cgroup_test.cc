// SPDX-License-Identifier: Apache-2.0
#include "agent/memory_cgroup.h"

#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <string>

namespace rankrun::agent {
namespace {

constexpr auto kMounts =
    "33 31 0:30 / /cg/memory rw - cgroup cgroup rw,memory\n"
    "29 22 0:26 / /cg/unified rw shared:4 - cgroup2 cgroup2 rw\n";
constexpr auto kNoLimit = "9223372036854771712\n";

struct Tree {
  explicit Tree(const std::string& own) {
    root.file("proc/self/mountinfo", kMounts);
    root.file("proc/self/cgroup", own);
  }
  tests::TempDir root;
};

TEST_CASE("version 1 tells of kills, limits and the peak of the worker's own cgroup",
          "[agent][memory]") {
  Tree tree("4:memory:/job/step\n0::/\n");
  CHECK_FALSE(own_memory_cgroup(tree.root.path()));
  tree.root.file("cg/memory/job/step/memory.oom_control",
                 "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  tree.root.file("cg/memory/job/step/memory.limit_in_bytes", kNoLimit);
  tree.root.file("cg/memory/job/step/memory.max_usage_in_bytes", "1000000\n");
  const auto cgroup = own_memory_cgroup(tree.root.path());
  REQUIRE(cgroup);
  CHECK(memory_kills(*cgroup) == 3);
  CHECK(memory_facts(*cgroup) == OutOfMemory{std::nullopt, 1000000});

  tree.root.file("cg/memory/job/memory.limit_in_bytes", "1048576\n");
  CHECK(memory_facts(*cgroup).limit == 1048576);
  tree.root.file("cg/memory/memory.limit_in_bytes", "2097152\n");  // larger: does not hold
  CHECK(memory_facts(*cgroup).limit == 1048576);
}

TEST_CASE("version 2 tells of them in the next cgroup upwards that counts memory",
          "[agent][memory]") {
  Tree tree("0::/job/step\n");
  tree.root.file("cg/unified/job/memory.events", "low 0\nhigh 0\nmax 4\noom 2\noom_kill 1\n");
  tree.root.file("cg/unified/job/memory.max", "67108864\n");
  const auto cgroup = own_memory_cgroup(tree.root.path());
  REQUIRE(cgroup);
  CHECK(cgroup->path == tree.root.path() / "cg/unified/job");
  CHECK(memory_kills(*cgroup) == 1);
  CHECK(memory_facts(*cgroup) == OutOfMemory{67108864, std::nullopt});  // before Linux 5.19
  tree.root.file("cg/unified/job/memory.peak", "67000000\n");
  tree.root.file("cg/unified/job/memory.max", "max\n");
  CHECK(memory_facts(*cgroup) == OutOfMemory{std::nullopt, 67000000});
}

TEST_CASE("a kernel that does not count kills tells nothing", "[agent][memory]") {
  Tree tree("4:memory:/job\n");
  for (const auto* text : {"", "oom_kill_disable 0\nunder_oom 0\n", "oom_kill x\n", "oom_kill\n"}) {
    INFO(text);
    tree.root.file("cg/memory/job/memory.oom_control", text);
    CHECK_FALSE(own_memory_cgroup(tree.root.path()));
  }
}

}  // namespace
}  // namespace rankrun::agent
