// SPDX-License-Identifier: Apache-2.0
#include "agent/text_template.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

std::string filled(std::string_view text) {
  return substitute(text, [](std::string_view name) -> std::optional<std::string> {
    if (name == "rank") return "7";
    if (name == "cash") return "$rank";
    return std::nullopt;
  });
}

TEST_CASE("names are replaced with and without braces", "[agent][template]") {
  CHECK(filled("").empty());
  CHECK(filled("no macro") == "no macro");
  CHECK(filled("$rank-${rank}.") == "7-7.");
  CHECK(filled("$rank") == "7");
}

TEST_CASE("what is no known macro stays as typed", "[agent][template]") {
  for (const char* text : {"$",
                           "a$",
                           "${",
                           "${}",
                           "${rank",
                           "${ rank}",
                           "$1",
                           "$ranks",
                           "${ranks}",
                           "$rank_",
                           "$ ",
                           "${rank-}",
                           "$\xff"}) {
    CHECK(filled(text) == text);
  }
}

TEST_CASE("two dollar signs stand for one, and values are not looked at again",
          "[agent][template]") {
  CHECK(filled("$$rank $$$rank $$$$") == "$rank $7 $$");
  CHECK(filled("${cash}") == "$rank");
}

}  // namespace
}  // namespace rankrun::agent
