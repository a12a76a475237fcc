// SPDX-License-Identifier: Apache-2.0
#include "store/deadlines.h"

#include <catch2/catch.hpp>

#include <chrono>

namespace rankrun::store {
namespace {

using std::chrono::seconds;

constexpr base::TimePoint kStart;
constexpr ConnectionId kA = 1;
constexpr ConnectionId kB = 2;

}  // namespace

TEST_CASE("deadlines are over in the order of their start", "[store][deadlines]") {
  Deadlines deadlines(seconds(10));
  REQUIRE(!deadlines.next());
  REQUIRE(!deadlines.oldest());
  deadlines.start(kB, kStart);
  deadlines.start(kA, kStart + seconds(1));
  REQUIRE(deadlines.next() == kStart + seconds(10));
  REQUIRE(deadlines.oldest() == kB);
  REQUIRE(!deadlines.overdue(kStart + seconds(9)));
  REQUIRE(deadlines.overdue(kStart + seconds(10)) == kB);
  deadlines.end(kB);
  REQUIRE(!deadlines.overdue(kStart + seconds(10)));
  REQUIRE(deadlines.overdue(kStart + seconds(11)) == kA);
}

TEST_CASE("a deadline that is started again is the last", "[store][deadlines]") {
  Deadlines deadlines(seconds(10));
  deadlines.start(kA, kStart);
  deadlines.start(kB, kStart + seconds(1));
  deadlines.start(kA, kStart + seconds(2));
  REQUIRE(deadlines.oldest() == kB);
  deadlines.end(kB);
  REQUIRE(deadlines.next() == kStart + seconds(12));
}

TEST_CASE("ending what has no deadline does nothing", "[store][deadlines]") {
  Deadlines deadlines(seconds(10));
  deadlines.start(kA, kStart);
  deadlines.end(kB);
  deadlines.end(kA);
  deadlines.end(kA);
  REQUIRE(!deadlines.next());
}

}  // namespace rankrun::store
