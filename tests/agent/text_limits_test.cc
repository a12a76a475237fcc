// SPDX-License-Identifier: Apache-2.0
#include "agent/text_limits.h"

#include <catch2/catch.hpp>

#include <numeric>

namespace rankrun::agent {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("the start of a text ends at a character", "[agent][text]") {
  CHECK(start_of("short", 5) == "short");
  CHECK(start_of("too long", 6) == "too...");
  CHECK(start_of("a\xe2\x82\xac\xe2\x82\xac", 6) == "a...");
  CHECK(start_of(std::string(10, '\x80'), 9).size() <= 9);
}

TEST_CASE("the end of a text starts at a line, or else at a character", "[agent][text]") {
  CHECK(last_lines_of("all of it", 9) == "all of it");
  CHECK(last_lines_of("one\ntwo\nthree", 10) == "two\nthree");
  CHECK(last_lines_of("one long line", 4) == "line");
  CHECK(last_lines_of("one long line\n", 5) == "line\n");
  CHECK(last_lines_of("a\xe2\x82\xac\xe2\x82\xac", 4) == "\xe2\x82\xac");
  CHECK(last_lines_of(std::string(10, '\x80'), 8).size() == 5);
}

TEST_CASE("lines for a person are escaped first and then limited", "[agent][text]") {
  CHECK(shown_lines({"a\x1b", "b"}, 100) == Lines{"a\\x1b", "b"});
  CHECK(shown_lines({"one", "two", "three"}, 11) == Lines{"...", "two", "three"});
  CHECK(shown_lines({"long line"}, 4) == Lines{"...", "line"});
  CHECK(shown_lines({}, 10).empty());
  const Lines hostile = shown_lines({std::string(5000, '\x1b'), std::string(5000, '\xff')}, 4096);
  CHECK(std::accumulate(hostile.begin(), hostile.end(), std::string()).size() <= 4096 + 3);
}

TEST_CASE("a text becomes its lines", "[agent][text]") {
  CHECK(split_lines("a\n\nb\n") == Lines{"a", "", "b"});
  CHECK(split_lines("").empty());
}

}  // namespace
}  // namespace rankrun::agent
