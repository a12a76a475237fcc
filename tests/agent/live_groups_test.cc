// SPDX-License-Identifier: Apache-2.0
#include "agent/live_groups.h"

#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace rankrun::agent {
namespace {

namespace fs = std::filesystem;

// A process table as procfs shows it.
struct Table {
  void put(const std::string& pid, const std::string& stat) const {
    fs::create_directory(dir.path() / pid);
    std::ofstream(dir.path() / pid / "stat") << stat;
  }

  tests::TempDir dir;
};

TEST_CASE("a group lives as long as a member does that is no zombie", "[agent][live_groups]") {
  const Table table;
  table.put("10", "10 (sh) S 1 10 10 0 -1");
  table.put("11", "11 (sleep) R 10 10 10 0 -1");
  table.put("12", "12 (done) Z 1 12 12 0 -1");
  table.put("13", "13 (a) Z (b) 4) S 1 13 13 0 -1");
  table.put("14", "");  // gone meanwhile
  table.put("self", "15 (sh) S 1 15 15 0 -1");
  LiveGroups groups(table.dir.path());
  const base::TimePoint now = base::Clock::now();
  CHECK(groups.contains(10, now));
  CHECK_FALSE(groups.contains(11, now));  // a process, not a group
  CHECK_FALSE(groups.contains(12, now));
  CHECK(groups.contains(13, now));
  CHECK_FALSE(groups.contains(15, now));
}

TEST_CASE("a look serves until one that is newer is asked for", "[agent][live_groups]") {
  const Table table;
  table.put("10", "10 (sh) S 1 10 10 0 -1");
  LiveGroups groups(table.dir.path());
  const base::TimePoint before = base::Clock::now();
  REQUIRE(groups.contains(10, before));
  table.put("10", "10 (sh) Z 1 10 10 0 -1");
  CHECK(groups.contains(10, before));
  CHECK_FALSE(groups.contains(10, base::Clock::now()));
}

TEST_CASE("without a process table no group lives", "[agent][live_groups]") {
  const tests::TempDir dir;
  LiveGroups groups(dir.path() / "none");
  CHECK_FALSE(groups.contains(1, base::Clock::now()));
}

}  // namespace
}  // namespace rankrun::agent
