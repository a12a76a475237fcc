// SPDX-License-Identifier: Apache-2.0
#include "agent/remains.h"

#include "agent/cgroup.h"
#include "agent/kernel_files.h"
#include "tests/support/marked_process.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <cstdio>
#include <optional>
#include <string>

namespace rankrun::agent {
namespace {

namespace fs = std::filesystem;
using tests::MarkedProcess;

Remains by_mark(const std::string& mark) {
  return {{mark, {}, ::getuid(), 0}, std::nullopt, std::nullopt};
}

TEST_CASE("without a cgroup the marks find what remains", "[agent][remains]") {
  MarkedProcess process("remains-test-a");
  CHECK(end_round(by_mark("remains-test-a"), 0).size() == 1);
  CHECK(process.wait() == SIGKILL);
  CHECK(end_round(by_mark("remains-test-a"), 0).empty());
}

TEST_CASE("a cgroup that is gone or forbids to kill leaves it to the marks", "[agent][remains]") {
  const tests::TempDir dir;
  Remains remains = by_mark("remains-test-b");
  remains.cgroup = dir.path() / "gone";
  SECTION("gone") {}
  SECTION("says nothing of its state") {
    dir.file("gone/cgroup.events", "frozen 0\n");
  }
  SECTION("has processes, but no kill file") {
    dir.file("gone/cgroup.events", "populated 1\nfrozen 0\n");
  }
  MarkedProcess process("remains-test-b");
  CHECK(end_round(remains, 0).size() == 1);
  CHECK(process.wait() == SIGKILL);
}

// A real cgroup with folders below it, as a launch within a launch makes them.
class RealCgroup {
 public:
  RealCgroup() {
    const auto parent = find_cgroup_parent();
    if (!parent) return;
    path = *parent / ("rankrun-test-" + std::to_string(::getpid()));
    ::mkdir(path.c_str(), 0755);
    ::mkdir((path / "inner").c_str(), 0755);
    if (fs::exists(path / "inner" / "cgroup.kill")) return;
    remove_cgroup(path);
    path.clear();
  }
  ~RealCgroup() { remove_cgroup(path); }
  RealCgroup(const RealCgroup&) = delete;
  RealCgroup& operator=(const RealCgroup&) = delete;

  bool missing() const {
    if (path.empty()) std::puts("SKIPPED: we may not make cgroups that can kill here");
    return path.empty();
  }

  fs::path path;
};

TEST_CASE("a cgroup ends all that is in it, marked or not, frozen or not", "[agent][remains]") {
  RealCgroup cgroup;
  if (cgroup.missing()) return;
  MarkedProcess process("other mark");
  MarkedProcess outside("remains-test-c");
  REQUIRE(write_kernel_file(cgroup.path / "inner" / "cgroup.procs", std::to_string(process.pid())));
  CHECK(is_populated(cgroup.path) == true);
  CHECK(processes_in(cgroup.path) == std::vector{process.pid()});
  SECTION("running") {}
  SECTION("frozen") {
    REQUIRE(write_kernel_file(cgroup.path / "cgroup.freeze", "1"));
  }
  Remains remains = by_mark("remains-test-c");
  remains.cgroup = cgroup.path;
  end_round(remains, 0);
  CHECK(process.wait() == SIGKILL);
  CHECK(end_round(remains, 0).empty());
  CHECK(outside.is_alive());  // its mark counts only where the cgroup does not

  remove_cgroups(remains);
  CHECK_FALSE(fs::exists(cgroup.path));
  CHECK(end_round(remains, 0).size() == 1);  // by the mark now
}

TEST_CASE("what is left is named with its state, three of them", "[agent][remains]") {
  ProcessEntry process;
  process.name = "train\n";
  std::vector<ProcessEntry> left;
  for (int i = 0; i < 5; ++i) {
    process.pid = (1 << 23) + i;
    left.push_back(process);
  }
  CHECK(describe_left({left.front()}) == "process 8388608 (train\\x0a) in an unknown state");
  CHECK(describe_left(left) ==
        "process 8388608 (train\\x0a) in an unknown state; "
        "process 8388609 (train\\x0a) in an unknown state; "
        "process 8388610 (train\\x0a) in an unknown state; and 2 more");
  left.front().pid = ::getpid();
  CHECK_THAT(describe_left({left.front()}), Catch::Contains(") running"));
}

}  // namespace
}  // namespace rankrun::agent
