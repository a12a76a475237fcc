// SPDX-License-Identifier: Apache-2.0
#include "agent/log_lines.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

TEST_CASE("lines are handed on whole and the rest is held back", "[agent][log]") {
  LineSplitter lines;
  CHECK(lines.add("one\ntw") == "one\n");
  CHECK(lines.has_rest());
  CHECK(lines.add("o").empty());
  CHECK(lines.add("\nthree\nfour") == "two\nthree\n");
  CHECK(lines.take_rest() == "four");
  CHECK_FALSE(lines.has_rest());
  CHECK(lines.add("").empty());
}

TEST_CASE("a carriage return finishes a line", "[agent][log]") {
  LineSplitter lines;
  CHECK(lines.add("10%\r20%") == "10%\r");
}

TEST_CASE("an endless line is handed on in pieces, and no byte is lost", "[agent][log]") {
  LineSplitter lines;
  std::size_t received = 0;
  constexpr std::size_t kPiece = 1000;
  for (int i = 0; i < 200; ++i) {
    received += lines.add(std::string(kPiece, 'x')).size();
  }
  CHECK(received > 0);
  CHECK(received + lines.take_rest().size() == 200 * kPiece);
}

TEST_CASE("the tail keeps the last lines only", "[agent][log]") {
  LineTail tail;
  for (int i = 0; i < 100; ++i) {
    tail.add("line " + std::to_string(i) + "\n");
  }
  const auto lines = tail.lines();
  REQUIRE(lines.size() == LineTail::kMostLines);
  CHECK(lines.front() == "line 80");
  CHECK(lines.back() == "line 99");
}

TEST_CASE("the tail shows an unfinished line and joins it across pieces", "[agent][log]") {
  LineTail tail;
  tail.add("done\nhal");
  tail.add("f");
  CHECK(tail.lines() == std::vector<std::string>{"done", "half"});
}

TEST_CASE("of a progress bar the tail keeps the last state", "[agent][log]") {
  LineTail tail;
  for (int percent = 0; percent <= 100; ++percent) {
    tail.add("\r" + std::to_string(percent) + " %");
  }
  CHECK(tail.lines() == std::vector<std::string>{"100 %"});
  tail.add("\r");
  CHECK(tail.lines() == std::vector<std::string>{"100 %"});
  tail.add("killed\nby\r\nnoon\r\n");
  CHECK(tail.lines() == std::vector<std::string>{"killed", "by", "noon"});
}

TEST_CASE("of a line that is too long the tail keeps the end", "[agent][log]") {
  LineTail tail;
  tail.add("first\n" + std::string(10000, 'x'));
  tail.add(std::string(10000, 'y') + "end");
  REQUIRE(tail.lines().size() == 1);
  CHECK(tail.lines()[0].size() == LineTail::kMostBytes);
  CHECK_THAT(tail.lines()[0], Catch::EndsWith("yend"));
}

TEST_CASE("a line that grows byte by byte and a tail at its limit keep within it", "[agent][log]") {
  LineTail tail;
  for (std::size_t i = 0; i < LineTail::kMostLines; ++i) {
    tail.add(std::to_string(i) + "\n");
  }
  tail.add("l");
  tail.add("ast");
  REQUIRE(tail.lines().size() == LineTail::kMostLines);
  CHECK(tail.lines().front() == "1");
  CHECK(tail.lines().back() == "last");
}

TEST_CASE("the tail is bounded in bytes", "[agent][log]") {
  LineTail tail;
  for (int i = 0; i < 10; ++i) {
    tail.add(std::string(10000, 'x') + "\n");
  }
  std::size_t bytes = 0;
  for (const auto& line : tail.lines()) {
    bytes += line.size();
  }
  CHECK(bytes > 0);
  CHECK(bytes <= LineTail::kMostBytes);
}

}  // namespace
}  // namespace rankrun::agent
