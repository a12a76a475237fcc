// SPDX-License-Identifier: Apache-2.0
#include "agent/rank_ranges.h"

#include <algorithm>
#include <utility>

namespace rankrun::agent {

std::string rank_ranges(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (auto rank = ranks.begin(); rank != ranks.end();) {
    const int first = *rank;
    int last = first;
    while (++rank != ranks.end() && *rank <= last + 1) {
      last = *rank;
    }
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
  }
  return text;
}

std::string format_ranks(std::vector<int> ranks) {
  const char* word = ranks.size() == 1 ? "rank " : "ranks ";
  return word + rank_ranges(std::move(ranks));
}

}  // namespace rankrun::agent
