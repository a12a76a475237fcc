// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/line_check.h"
#include "apps/bench/log_work.h"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rankrun::bench {
namespace {

// As a worker writes it, with its line feed.
std::string text_of(int rank, int number) {
  std::string text;
  append({.rank = rank, .number = number}, 77, text);
  return text;
}

// As the console shows it.
std::string shown(int rank, int number) {
  return "[default" + std::to_string(rank) + "]:" + text_of(rank, number);
}

LineFaults check(const std::string& console) {
  constexpr int kWorkers = 2;
  constexpr int kLines = 2;
  LineCheck check(kWorkers, kLines);
  check.add(console);
  return check.finish();
}

TEST_CASE("whole lines in any interleaving and any pieces have no fault", "[bench][logs]") {
  const std::string console = shown(1, 0) + shown(0, 0) + shown(0, 1) + shown(1, 1);
  for (std::size_t size = 1; size <= console.size(); ++size) {
    LineCheck check(2, 2);
    for (std::size_t start = 0; start < console.size(); start += size) {
      check.add(std::string_view(console).substr(start, size));
    }
    CHECK(check.finish() == LineFaults{});
  }
}

TEST_CASE("a line that never comes is lost", "[bench][logs]") {
  CHECK(check(shown(0, 0) + shown(1, 0) + shown(1, 1)) == LineFaults{.lost = 1});
  CHECK(check("") == LineFaults{.lost = 4});
}

TEST_CASE("a line in two pieces is torn, with a prefix in between prefixed twice",
          "[bench][logs]") {
  const std::string others = shown(0, 0) + shown(1, 0) + shown(1, 1);
  const std::string line = text_of(0, 1);
  const std::string head = "[default0]:" + line.substr(0, 20);
  const std::string tail = line.substr(20);
  CHECK(check(others + head + "\n" + tail) == LineFaults{.lost = 1, .torn = 2});
  CHECK(check(others + head + "\n[default0]:" + tail) == LineFaults{.lost = 1, .torn = 2});
  CHECK(check(others + head + "[default0]:" + tail) == LineFaults{.lost = 1, .prefixed_twice = 1});
  CHECK(check(others + "[default0]:" + shown(0, 1)) == LineFaults{.lost = 1, .prefixed_twice = 1});
  CHECK(check(others + line) == LineFaults{.lost = 1, .torn = 1});  // no prefix at all
  CHECK(check(others + head) == LineFaults{.lost = 1, .torn = 1});  // the end is missing
}

TEST_CASE("text of two workers in a line is mixed", "[bench][logs]") {
  const std::string others = shown(0, 0) + shown(1, 0);
  const std::string line = text_of(0, 1);
  CHECK(check(others + "[default0]:" + line.substr(0, 20) + shown(1, 1) + line.substr(20)) ==
        LineFaults{.lost = 2, .torn = 1, .mixed = 1});
  CHECK(check(others + shown(1, 1) + "[default1]:" + line) == LineFaults{.lost = 1, .mixed = 1});
}

TEST_CASE("a line that comes again or late is a fault", "[bench][logs]") {
  const std::string others = shown(1, 0) + shown(1, 1);
  CHECK(check(others + shown(0, 0) + shown(0, 1) + shown(0, 0)) == LineFaults{.repeated = 1});
  CHECK(check(others + shown(0, 1) + shown(0, 0)) == LineFaults{.out_of_order = 1});
}

TEST_CASE("lines that nobody wrote are faults", "[bench][logs]") {
  const std::string all = shown(0, 0) + shown(0, 1) + shown(1, 0) + shown(1, 1);
  CHECK(check(all + shown(2, 0) + shown(0, 2) + "[defaultx]:a\n\n") == LineFaults{.torn = 4});
}

TEST_CASE("faults are told apart, and only those that are there", "[bench][logs]") {
  CHECK(to_text({}).empty());
  const LineFaults faults{.lost = 2, .torn = 1, .out_of_order = 3};
  CHECK(to_text(faults) == "2 lost, 1 torn, 3 out of order");
  CHECK(faults.sum() == 6);
}

}  // namespace
}  // namespace rankrun::bench
