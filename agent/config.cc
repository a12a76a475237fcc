// SPDX-License-Identifier: Apache-2.0
#include "agent/config.h"

namespace rankrun::agent {

std::optional<std::string> value_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : std::optional(found->second);
}

bool StreamSelection::has(int local_rank, Stream stream) const {
  Streams streams = of_every_worker;
  if (!by_local_rank.empty()) {
    const auto found = by_local_rank.find(local_rank);
    streams = found == by_local_rank.end() ? Streams::none : found->second;
  }
  return (static_cast<unsigned>(streams) & static_cast<unsigned>(stream)) != 0;
}

bool StreamSelection::empty() const {
  return of_every_worker == Streams::none && by_local_rank.empty();
}

}  // namespace rankrun::agent
