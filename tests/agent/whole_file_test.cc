// SPDX-License-Identifier: Apache-2.0
#include "agent/whole_file.h"

#include "store/base/unique_fd.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace rankrun::agent {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST_CASE("a file is made, and then replaced as a whole", "[agent][whole_file]") {
  const tests::TempDir dir;
  const std::string path = dir.path() / "report.json";
  REQUIRE(write_whole_file(path, "a longer first text"));
  const base::UniqueFd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(write_whole_file(path, "second"));
  CHECK(read(path) == "second");
  std::string old(100, '\0');
  const ssize_t size = ::read(reader.get(), old.data(), old.size());
  CHECK(old.substr(0, static_cast<std::size_t>(size)) == "a longer first text");
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("what is no regular file is written to, not replaced", "[agent][whole_file]") {
  const tests::TempDir dir;
  const std::string target = dir.file("target", "a longer first text");
  const std::string link = dir.path() / "link";
  fs::create_symlink(target, link);
  REQUIRE(write_whole_file(link, "second"));
  CHECK(fs::is_symlink(link));
  CHECK(read(target) == "second");
  REQUIRE(write_whole_file("/dev/null", "text"));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a file that cannot be written is named, and nothing is left behind",
          "[agent][whole_file]") {
  const tests::TempDir dir;
  std::string path;
  std::error_code expected;
  SECTION("its folder is missing") {
    path = dir.path() / "no" / "report.json";
    expected = std::make_error_code(std::errc::no_such_file_or_directory);
  }
  SECTION("it is a folder") {
    path = dir.path();
    expected = std::make_error_code(std::errc::is_a_directory);
  }
  SECTION("its device is full") {
    path = "/dev/full";
    expected = std::make_error_code(std::errc::no_space_on_device);
  }
  SECTION("it is a pipe that nobody reads") {
    path = dir.path() / "pipe";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    expected = std::make_error_code(std::errc::no_such_device_or_address);
  }
  const std::size_t before = entries(dir.path());
  const auto written = write_whole_file(path, "text");
  REQUIRE_FALSE(written);
  CHECK(written.error().code == expected);
  CHECK_THAT(written.error().message(), Catch::Contains("'" + path + "'"));
  CHECK(entries(dir.path()) == before);
}

}  // namespace
}  // namespace rankrun::agent
