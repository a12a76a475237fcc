// SPDX-License-Identifier: Apache-2.0
#include "agent/rank_ranges.h"

#include <algorithm>

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

}  // namespace rankrun::agent
