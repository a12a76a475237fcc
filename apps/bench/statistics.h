// SPDX-License-Identifier: Apache-2.0
// Pure: what a set of samples says. Each function wants at least one sample.
#pragma once

#include "store/base/assert.h"
#include "store/base/clock.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rankrun::bench {

using Samples = std::vector<base::Duration>;

/// The middle sample, or the mean of the two in the middle.
inline base::Duration median(Samples samples) {
  RANKRUN_ASSERT(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const std::size_t upper = samples.size() / 2;
  if (samples.size() % 2 == 1) return samples[upper];
  return samples[upper - 1] + (samples[upper] - samples[upper - 1]) / 2;
}

/// The smallest sample that at least `percent` % of the samples do not exceed (nearest rank):
/// always one that was measured. `percent` is from 1 to 100; 100 gives the largest.
inline base::Duration percentile(Samples samples, std::size_t percent) {
  RANKRUN_ASSERT(!samples.empty() && percent >= 1 && percent <= 100);
  std::sort(samples.begin(), samples.end());
  const std::size_t rank = (samples.size() * percent + 99) / 100;  // from 1, rounded up
  return samples[rank - 1];
}

}  // namespace rankrun::bench
