// SPDX-License-Identifier: Apache-2.0
#include "agent/log_lines.h"

#include <catch2/catch.hpp>

#include <random>

namespace rankrun::agent {
namespace {

std::string added(LineSplitter& lines, std::string_view bytes) {
  const auto [held, further] = lines.add(bytes);
  return std::string(held) + std::string(further);
}

TEST_CASE("lines are handed on whole and the rest is held back", "[agent][log]") {
  LineSplitter lines;
  CHECK(added(lines, "one\ntw") == "one\n");
  CHECK(lines.has_rest());
  CHECK(added(lines, "o").empty());
  CHECK(added(lines, "\nthree\nfour") == "two\nthree\n");
  CHECK(lines.take_rest() == "four");
  CHECK_FALSE(lines.has_rest());
  CHECK(added(lines, "").empty());
}

TEST_CASE("the next state of a progress bar finishes the one before", "[agent][log]") {
  LineSplitter lines;
  CHECK(added(lines, "10%\r20%") == "10%");
  CHECK(added(lines, "\r30%") == "\r20%");
  CHECK(added(lines, "\r").empty());  // it may be the end of a line
  CHECK(added(lines, "40%\r") == "\r30%");
  CHECK(added(lines, "\n") == "\r40%\r\n");
  CHECK_FALSE(lines.has_rest());
  CHECK(added(lines, "dos\r\nlines\r") == "dos\r\n");
  CHECK(added(lines, "\nend") == "lines\r\n");
}

TEST_CASE("however a stream is cut, no byte is lost and whole lines stay whole", "[agent][log]") {
  std::mt19937 random(1);
  std::string stream;
  for (int i = 0; i < 20000; ++i) {
    stream += "\n\rab"[random() % 4];
  }
  LineSplitter lines;
  std::string received;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t size = random() % 20;
    const std::string piece = stream.substr(at, size);
    const std::string whole = added(lines, piece);
    received += whole;
    const bool ends_state = received.size() < stream.size() && stream[received.size()] == '\r';
    if (!whole.empty()) CHECK((whole.back() == '\n' || ends_state));
    at += piece.size();
  }
  received += lines.take_rest();
  CHECK(received == stream);
}

TEST_CASE("an endless line is handed on in pieces, and no byte is lost", "[agent][log]") {
  LineSplitter lines;
  std::size_t received = 0;
  constexpr std::size_t kPiece = 1000;
  for (int i = 0; i < 200; ++i) {
    received += added(lines, std::string(kPiece, 'x')).size();
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

TEST_CASE("empty lines count and are bounded like others", "[agent][log]") {
  LineTail tail;
  tail.add("gone");
  for (int i = 0; i < 100; ++i) {
    tail.add("\n");
  }
  CHECK(tail.lines() == std::vector<std::string>(LineTail::kMostLines));
}

TEST_CASE("the tail of much at once is that of the same in small pieces", "[agent][log]") {
  std::mt19937 random(1);
  for (int run = 0; run < 50; ++run) {
    LineTail at_once;
    LineTail in_pieces;
    std::string text;
    for (int i = 0; i < 3000; ++i) {
      text += random() % 30 == 0 ? '\n' : "ab\r"[random() % 8 == 0 ? 2 : random() % 2];
    }
    at_once.add("before\n");
    at_once.add(text);
    for (const char c : "before\n" + text) {
      in_pieces.add({&c, 1});
    }
    REQUIRE(at_once.lines() == in_pieces.lines());
  }
}

}  // namespace
}  // namespace rankrun::agent
