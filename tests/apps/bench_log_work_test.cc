// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/log_work.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <vector>

namespace rankrun::bench {
namespace {

struct Written {
  std::string text;
  std::size_t longest_piece = 0;
  std::size_t pieces = 0;
  base::Duration longest_pause{};
};

Written write(int rank, int lines, std::uint64_t seed) {
  LogWork work(rank, lines, seed);
  Written written;
  for (auto step = work.next(); !step.piece.empty(); step = work.next()) {
    written.text += step.piece;
    written.longest_piece = std::max(written.longest_piece, step.piece.size());
    written.longest_pause = std::max(written.longest_pause, step.pause);
    ++written.pieces;
  }
  return written;
}

TEST_CASE("a worker writes each of its lines once and in order", "[bench][logs]") {
  std::istringstream lines(write(3, 2000, 7).text);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    CHECK(decode(line) == LogLine{.rank = 3, .number = number});
  }
  CHECK(number == 2000);
}

TEST_CASE("lines are 100 bytes long on average, in pieces of 1 to 200", "[bench][logs]") {
  constexpr int kLines = 50'000;
  const Written written = write(0, kLines, 1);
  CHECK(written.text.size() / kLines == Approx(100).margin(2));
  CHECK(written.text.size() / written.pieces == Approx(100).margin(2));
  CHECK(written.longest_piece == 200);
  CHECK(written.longest_pause > base::Duration::zero());
  CHECK(written.longest_pause < std::chrono::milliseconds(50));  // when a launcher thinks it idle
}

TEST_CASE("the same seed gives the same, another seed or rank does not", "[bench][logs]") {
  CHECK(write(0, 100, 1).text == write(0, 100, 1).text);
  CHECK(write(0, 100, 1).text != write(0, 100, 2).text);
  CHECK(write(0, 100, 1).text != write(1, 100, 1).text);
}

TEST_CASE("a line that is not whole is no line", "[bench][logs]") {
  std::string line;
  append({.rank = 1, .number = 5}, 12345, line);
  line.pop_back();  // the line feed
  REQUIRE(decode(line) == LogLine{.rank = 1, .number = 5});
  for (std::size_t i = 0; i < line.size(); ++i) {
    CHECK_FALSE(decode(line.substr(0, i)));
    CHECK_FALSE(decode(line.substr(i + 1)));
    std::string changed = line;
    changed[i] ^= 1;
    CHECK_FALSE(decode(changed));
  }
}

TEST_CASE("a stamp is found behind any prefix", "[bench][logs]") {
  const base::TimePoint now(std::chrono::nanoseconds(1234567890123));
  CHECK(decode_stamp("[default0]:" + encode_stamp(now)) == now);
  CHECK_FALSE(decode_stamp("[default0]:hello"));
  CHECK_FALSE(decode_stamp("stamp x"));
}

}  // namespace
}  // namespace rankrun::bench
