// SPDX-License-Identifier: Apache-2.0
#include "agent/rank_ranges.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

TEST_CASE("ranks are told as ranges", "[agent][fold]") {
  CHECK(rank_ranges({3}) == "3");
  CHECK(rank_ranges({7, 5, 6, 0}) == "0,5-7");
  CHECK(rank_ranges({0, 1, 2, 3, 5, 11, 10}) == "0-3,5,10-11");
  CHECK(format_ranks({3}) == "rank 3");
  CHECK(format_ranks({7, 0, 2, 3, 5, 4}) == "ranks 0,2-5,7");
}

}  // namespace
}  // namespace rankrun::agent
