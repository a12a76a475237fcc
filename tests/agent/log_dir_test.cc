// SPDX-License-Identifier: Apache-2.0
#include "agent/log_dir.h"

#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <optional>
#include <set>

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

TEST_CASE("heartbeats can be removed, and are no reason to keep a directory", "[agent][log_dir]") {
  const tests::TempDir dir;
  auto log_dir = LogDir::create(std::nullopt, dir.path(), "id");
  REQUIRE(log_dir);
  REQUIRE(log_dir->open_attempt(2));
  std::ofstream(log_dir->heartbeat_file(1)) << "alive";
  log_dir->remove_heartbeats();
  CHECK(log_dir->close(true) == std::nullopt);
  CHECK(fs::is_empty(dir.path()));
}

TEST_CASE("the null device means no directory and no error files", "[agent][log_dir]") {
  auto log_dir = LogDir::create("/dev/null", "/nonexistent", "id");
  REQUIRE(log_dir);
  CHECK(log_dir->open_attempt(3));
  CHECK_FALSE(log_dir->is_open());
  CHECK(log_dir->error_file(0).empty());
  CHECK(log_dir->log_file(0, Stream::out).empty());
  CHECK(log_dir->filtered_file(Stream::err).empty());
}

TEST_CASE("every stream of a worker and every filter has a file of its own", "[agent][log_dir]") {
  const tests::TempDir dir;
  const bool is_named = GENERATE(true, false);
  const auto base = is_named ? std::optional(dir.path().string()) : std::nullopt;
  auto log_dir = LogDir::create(base, dir.path(), "id");
  REQUIRE(log_dir);
  std::set<std::string> files;
  for (int attempt = 0; attempt < 2; ++attempt) {
    REQUIRE(log_dir->open_attempt(2));
    for (const Stream stream : {Stream::out, Stream::err}) {
      files.insert({log_dir->log_file(0, stream),
                    log_dir->log_file(1, stream),
                    log_dir->filtered_file(stream)});
    }
    files.insert({log_dir->error_file(0), log_dir->error_file(1)});
  }
  CHECK(files.size() == 16);
  for (const std::string& file : files) {
    std::ofstream(file) << "x";
    CHECK(fs::exists(file));
  }
  CHECK(log_dir->close(false) == std::nullopt);
  CHECK(fs::exists(*files.begin()) == is_named);
  if (!is_named) CHECK(fs::is_empty(dir.path()));
}

TEST_CASE("an attempt whose folders cannot be made has no files", "[agent][log_dir]") {
  const tests::TempDir dir;
  const fs::path base = dir.path() / "logs";
  auto log_dir = LogDir::create(base.string(), "", "id");
  REQUIRE(log_dir);
  fs::rename(base, dir.path() / "elsewhere");
  const auto opened = log_dir->open_attempt(1);
  REQUIRE_FALSE(opened);
  CHECK_THAT(opened.error().message(), Catch::Contains("goes on without"));
  CHECK_FALSE(log_dir->is_open());
  CHECK(log_dir->error_file(0).empty());
  fs::rename(dir.path() / "elsewhere", base);
  CHECK(log_dir->open_attempt(1));  // the next one tries again
  CHECK(fs::is_directory(fs::path(log_dir->error_file(0)).parent_path()));
}

TEST_CASE("a directory that cannot be made is refused with what to do", "[agent][log_dir]") {
  const tests::TempDir dir;
  const std::string file = dir.file("file", "");
  const auto below_file = LogDir::create(file + "/logs", "/tmp", "id");
  REQUIRE_FALSE(below_file);
  CHECK_THAT(below_file.error().message(), Catch::Contains("--log-dir"));
  const auto is_file = LogDir::create(file, "/tmp", "id");
  CHECK_FALSE(is_file);
  const fs::path link = dir.path() / "dangling";
  fs::create_symlink(dir.path() / "nothing", link);
  CHECK_FALSE(LogDir::create(link.string(), "/tmp", "id"));
  const auto no_temp = LogDir::create(std::nullopt, dir.path() / "nowhere", "id");
  REQUIRE_FALSE(no_temp);
  CHECK_THAT(no_temp.error().message(), Catch::Contains("--log-dir"));
}

}  // namespace
}  // namespace rankrun::agent
