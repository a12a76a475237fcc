// SPDX-License-Identifier: Apache-2.0
// Which process groups have live members. The kernel tells only by its table of all processes, so
// one look at that serves every group that is asked about meanwhile.
#pragma once

#include "store/base/clock.h"

#include <sys/types.h>

#include <filesystem>
#include <set>
#include <utility>

namespace rankrun::agent {

class LiveGroups {
 public:
  /// `proc` is where procfs is mounted.
  explicit LiveGroups(std::filesystem::path proc) : proc_(std::move(proc)) {}

  /// Whether the group had a live member at some time after `since`. Zombies count as gone: where
  /// init does not reap, as in some containers, they stay for ever.
  bool contains(pid_t group, base::TimePoint since);

 private:
  void look();

  std::filesystem::path proc_;
  std::set<pid_t> groups_;
  base::TimePoint looked_at_ = base::TimePoint::min();  // when the look began
};

}  // namespace rankrun::agent
