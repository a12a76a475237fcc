// SPDX-License-Identifier: Apache-2.0
#include "agent/log_dir.h"

#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <fstream>

namespace rankrun::agent {
namespace {

namespace fs = std::filesystem;

TEST_CASE("attempts get folders of their own below the run's", "[agent][log_dir]") {
  const tests::TempDir dir;
  auto log_dir = LogDir::create((dir.path() / "logs/new").string(), "/nonexistent", "job/1");
  REQUIRE(log_dir);
  REQUIRE(log_dir->open_attempt(2));
  const fs::path first = log_dir->error_file(1);
  REQUIRE(log_dir->open_attempt(2));
  const fs::path second = log_dir->error_file(1);
  CHECK(first.filename() == "error.json");
  CHECK(first.parent_path().filename() == "1");
  CHECK(first.parent_path().parent_path().filename() == "attempt_0");
  CHECK(second.parent_path().parent_path().filename() == "attempt_1");
  const fs::path run = second.parent_path().parent_path().parent_path();
  CHECK(run.parent_path() == dir.path() / "logs/new");
  CHECK_THAT(run.filename().string(), Catch::StartsWith("job_1_"));
  CHECK((fs::status(run).permissions() & fs::perms::all) == fs::perms::owner_all);
  CHECK(fs::is_directory(first.parent_path()));
  CHECK(log_dir->close(true) == std::nullopt);
  CHECK(fs::is_directory(second.parent_path()));  // a named directory is never removed
}

TEST_CASE("a temporary directory is removed, unless it holds error files of a failure",
          "[agent][log_dir]") {
  const tests::TempDir dir;
  auto log_dir = LogDir::create(std::nullopt, dir.path(), "id");
  REQUIRE(log_dir);
  REQUIRE(log_dir->open_attempt(1));
  SECTION("success") {
    std::ofstream(log_dir->error_file(0)) << "{}";
    CHECK(log_dir->close(false) == std::nullopt);
    CHECK(fs::is_empty(dir.path()));
  }
  SECTION("failure without error files") {
    CHECK(log_dir->close(true) == std::nullopt);
    CHECK(fs::is_empty(dir.path()));
  }
  SECTION("failure with one") {
    std::ofstream(log_dir->error_file(0)) << "{}";
    const auto kept = log_dir->close(true);
    REQUIRE(kept);
    CHECK_THAT(log_dir->error_file(0), Catch::StartsWith(*kept));
    CHECK_THAT(log_dir->error_file(0), Catch::EndsWith("/attempt_0_rank_0_error.json"));
    CHECK(fs::exists(log_dir->error_file(0)));
  }
}

TEST_CASE("the null device means no directory and no error files", "[agent][log_dir]") {
  auto log_dir = LogDir::create("/dev/null", "/nonexistent", "id");
  REQUIRE(log_dir);
  CHECK(log_dir->open_attempt(3));
  CHECK(log_dir->error_file(0).empty());
}

TEST_CASE("a directory that cannot be made is refused with what to do", "[agent][log_dir]") {
  const tests::TempDir dir;
  const std::string file = dir.file("file", "");
  const auto below_file = LogDir::create(file + "/logs", "/tmp", "id");
  REQUIRE_FALSE(below_file);
  CHECK_THAT(below_file.error().message(), Catch::Contains("--log-dir"));
  const auto is_file = LogDir::create(file, "/tmp", "id");
  CHECK_FALSE(is_file);
  const auto no_temp = LogDir::create(std::nullopt, "/nonexistent", "id");
  REQUIRE_FALSE(no_temp);
  CHECK_THAT(no_temp.error().message(), Catch::Contains("--log-dir"));
}

}  // namespace
}  // namespace rankrun::agent
