// SPDX-License-Identifier: Apache-2.0
// Pure: many ranks in few characters.
#pragma once

#include <string>
#include <vector>

namespace rankrun::agent {

/// Sorted and without gaps written out: "0-3,5".
std::string rank_ranges(std::vector<int> ranks);

}  // namespace rankrun::agent
