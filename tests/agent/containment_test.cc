// SPDX-License-Identifier: Apache-2.0
#include "agent/containment.h"

#include "agent/cgroup.h"
#include "agent/kernel_files.h"
#include "tests/support/recorded_log.h"
#include "tests/support/silent_log.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace rankrun::agent {
namespace {

namespace fs = std::filesystem;

bool can_contain() {
  auto containment = Containment::create(CgroupUse::required, false, tests::silent_log());
  const bool can = containment && containment->open_attempt();
  if (!can) std::puts("SKIPPED: we may not make cgroups that can kill here");
  return can;
}

TEST_CASE("every attempt has a cgroup of its own, and none stays", "[agent][containment]") {
  if (!can_contain()) return;
  auto containment = Containment::create(CgroupUse::required, false, tests::silent_log());
  REQUIRE(containment);
  REQUIRE(containment->open_attempt());
  const fs::path parent = *find_cgroup_parent();
  CHECK(containment->describe() == "a cgroup per attempt, below " + parent.string());
  const fs::path first = *containment->marks().remains().cgroup;
  CHECK(fs::exists(first));
  CHECK(containment->tie(std::nullopt)->cgroup >= 0);
  containment->close_attempt();
  CHECK_FALSE(fs::exists(first));

  CHECK(containment->tie(std::nullopt)->cgroup >= 0);
  const fs::path second = *containment->marks().remains().cgroup;
  CHECK(second != first);
  CHECK(fs::exists(second));
  containment->close_attempt();
  CHECK_FALSE(fs::exists(second));
}

// This process in a cgroup of its own, below which no further ones can be forbidden.
class InnerCgroup {
 public:
  explicit InnerCgroup(fs::path parent)
      : parent_(std::move(parent)),
        path_(parent_ / ("rankrun-test-inner-" + std::to_string(::getpid()))) {
    fs::create_directory(path_);
    enter(path_);
  }
  ~InnerCgroup() {
    enter(parent_);
    remove_cgroup(path_);
  }
  InnerCgroup(const InnerCgroup&) = delete;
  InnerCgroup& operator=(const InnerCgroup&) = delete;

  void forbid_further_ones() const {
    REQUIRE(write_kernel_file(path_ / "cgroup.max.descendants", "0"));
  }

 private:
  static void enter(const fs::path& cgroup) {
    write_kernel_file(cgroup / "cgroup.procs", std::to_string(::getpid()));
  }

  fs::path parent_;
  fs::path path_;
};

TEST_CASE("an attempt without the cgroup that others had is told of", "[agent][containment]") {
  if (!can_contain()) return;
  const InnerCgroup inner(*find_cgroup_parent());
  tests::RecordedLog log;
  auto containment = Containment::create(CgroupUse::automatic, false, log.log());
  REQUIRE(containment);
  CHECK(containment->tie(std::nullopt)->cgroup >= 0);
  containment->close_attempt();
  CHECK(log.text().empty());

  inner.forbid_further_ones();
  CHECK(containment->tie(std::nullopt)->cgroup == -1);
  CHECK_THAT(log.text(),
             Catch::Contains("the workers cannot have a cgroup") &&
                 Catch::Contains("found by their session and environment mark"));
  const std::string once = log.text();
  CHECK(containment->tie(std::nullopt)->cgroup == -1);
  CHECK(log.text() == once);
}

TEST_CASE("a cgroup that was never used goes with its owner", "[agent][containment]") {
  if (!can_contain()) return;
  fs::path path;
  {
    auto containment = Containment::create(CgroupUse::required, false, tests::silent_log());
    REQUIRE(containment->open_attempt());
    path = *containment->marks().remains().cgroup;
    CHECK(fs::exists(path));
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("without cgroups there are marks", "[agent][containment]") {
  auto containment = Containment::create(CgroupUse::off, false, tests::silent_log());
  REQUIRE(containment);
  CHECK(containment->describe() == "their session and environment mark");
  const auto ties = containment->tie(std::nullopt);
  REQUIRE(ties);
  CHECK(ties->cgroup == -1);
  CHECK(ties->mark.size() == 32);
  CHECK(containment->end_round(0).empty());
}

TEST_CASE("no two launches have the same mark", "[agent][containment]") {
  CHECK(Containment::create(CgroupUse::off, false, tests::silent_log())->marks().marks().mark !=
        Containment::create(CgroupUse::off, false, tests::silent_log())->marks().marks().mark);
}

TEST_CASE("a memory limit is a cgroup of the worker's own", "[agent][containment]") {
  auto containment = Containment::create(CgroupUse::automatic, true, tests::silent_log());
  REQUIRE(containment);
  const auto first = containment->tie(64 << 20);
  if (!first) {
    std::printf("SKIPPED: %s\n", first.error().message().c_str());
    return;
  }
  const auto second = containment->tie(32 << 20);
  REQUIRE(second);
  CHECK(first->memory_cgroup->path != second->memory_cgroup->path);
  CHECK(memory_facts(*first->memory_cgroup).limit == 64 << 20);
  CHECK(memory_facts(*second->memory_cgroup).limit == 32 << 20);
  CHECK(memory_kills(*first->memory_cgroup) == 0);
  containment->close_attempt();
  CHECK_FALSE(fs::exists(first->memory_cgroup->path.parent_path()));
}

}  // namespace
}  // namespace rankrun::agent
