// SPDX-License-Identifier: Apache-2.0
#include "agent/log_file.h"

#include "tests/support/file_size_limit.h"
#include "tests/support/recorded_log.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace rankrun::agent {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("a log file takes bytes and gives them back", "[agent][log_file]") {
  const tests::TempDir dir;
  const tests::RecordedLog log;
  const std::string path = (dir.path() / "stdout.log").string();
  const auto file = LogFile::create(path, log.log());
  CHECK(file->append("one\n") == 4);
  CHECK(file->append(std::string_view("\0\xff", 2)) == 2);
  CHECK(content(path) == std::string("one\n\0\xff", 6));
  CHECK((fs::status(path).permissions() & fs::perms::all) ==
        (fs::perms::owner_read | fs::perms::owner_write));
  std::array<char, 3> buffer{};
  REQUIRE(file->read_back(2, buffer) == 3);
  CHECK(std::string(buffer.data(), 3) == std::string("e\n\0", 3));
  CHECK(log.text().empty());
}

TEST_CASE("a log file never replaces a file nor follows a link", "[agent][log_file]") {
  const tests::TempDir dir;
  const tests::RecordedLog log;
  const std::string other = dir.file("other", "precious");
  const std::string link = (dir.path() / "link").string();
  fs::create_symlink(other, link);
  for (const std::string& path : {other, link}) {
    CHECK(LogFile::create(path, log.log())->append("x") == 0);
  }
  CHECK(content(other) == "precious");
}

TEST_CASE("a full disk is told once, and says how much was taken", "[agent][log_file]") {
  const tests::TempDir dir;
  const tests::RecordedLog log;
  const std::string path = (dir.path() / "stderr.log").string();
  const auto file = LogFile::create(path, log.log());
  {
    const tests::FileSizeLimit full(6);
    CHECK(file->append("1234") == 4);
    CHECK(file->append("5678") == 2);
    CHECK(file->append("9") == 0);
  }
  CHECK(file->append("late") == 0);  // there would be a hole
  CHECK(content(path) == "123456");
  CHECK(log.text() == "rankrun: warning: cannot write log file '" + path +
                          "': File too large; the output goes on without it\n");
}

TEST_CASE("a folder that is gone is told once, too", "[agent][log_file]") {
  const tests::TempDir dir;
  const tests::RecordedLog log;
  const auto file = LogFile::create((dir.path() / "gone" / "stdout.log").string(), log.log());
  CHECK(file->append("x") == 0);
  CHECK(file->append("x") == 0);
  const std::string text = log.text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK_THAT(text, Catch::Contains("No such file or directory"));
}

TEST_CASE("a log file that somebody cut short cannot be read back, which is told",
          "[agent][log_file]") {
  const tests::TempDir dir;
  const tests::RecordedLog log;
  const std::string path = (dir.path() / "stdout.log").string();
  const auto file = LogFile::create(path, log.log());
  file->append("1234");
  fs::resize_file(path, 0);
  std::array<char, 4> buffer{};
  CHECK(file->read_back(0, buffer) == 0);
  CHECK_THAT(log.text(), Catch::Contains(path) && Catch::Contains("made shorter"));
}

}  // namespace
}  // namespace rankrun::agent
