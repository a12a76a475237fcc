// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/statistics.h"

#include <catch2/catch.hpp>

namespace rankrun::bench {
namespace {

using std::chrono::milliseconds;

TEST_CASE("the median is the middle, or between the two in the middle", "[bench][statistics]") {
  CHECK(median({milliseconds(3)}) == milliseconds(3));
  CHECK(median({milliseconds(9), milliseconds(1), milliseconds(2)}) == milliseconds(2));
  CHECK(median({milliseconds(4), milliseconds(1), milliseconds(2), milliseconds(9)}) ==
        milliseconds(3));
}

TEST_CASE("a percentile is a sample that was measured", "[bench][statistics]") {
  Samples samples;
  for (int i = 200; i >= 1; --i) {
    samples.emplace_back(milliseconds(i));
  }
  CHECK(percentile(samples, 50) == milliseconds(100));
  CHECK(percentile(samples, 99) == milliseconds(198));
  CHECK(percentile(samples, 100) == milliseconds(200));
  CHECK(percentile({milliseconds(7)}, 1) == milliseconds(7));
}

}  // namespace
}  // namespace rankrun::bench
