// SPDX-License-Identifier: Apache-2.0
// Pure: many ranks in few characters.
#pragma once

#include <string>
#include <vector>

namespace rankrun::agent {

/// Sorted and without gaps written out: "0-3,5".
std::string rank_ranges(std::vector<int> ranks);

/// The same with a word: "rank 3", "ranks 0,2-7".
std::string format_ranks(std::vector<int> ranks);

}  // namespace rankrun::agent
