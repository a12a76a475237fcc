// SPDX-License-Identifier: Apache-2.0
// Ending what remains of an attempt. The agent and its keeper do it the same way: round after
// round, until one finds nothing.
#pragma once

#include "agent/process_table.h"
#include "agent/sweep.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rankrun::agent {

/// What an attempt's processes are found by.
struct Remains {
  Marks marks;
  std::optional<std::filesystem::path> cgroup;         ///< all are in it; it may be gone
  std::optional<std::filesystem::path> memory_cgroup;  ///< limits some (version 1); empty of others
};

/// One round, by the cgroup where there is one and we may use it, else by the marks: kills what
/// remains, and returns what lives. None: all of it is gone. Rounds are counted from 0: what has
/// survived several is taken for processes that start new ones faster than one by one they can be
/// killed.
std::vector<ProcessEntry> end_round(const Remains& remains, int round);

/// Removes the cgroups, once a round has found nothing.
void remove_cgroups(const Remains& remains);

/// "process 12 (python) in uninterruptible sleep in nfs_wait": what keeps them from dying. Three
/// are named, the others counted.
std::string describe_left(const std::vector<ProcessEntry>& left);

}  // namespace rankrun::agent
