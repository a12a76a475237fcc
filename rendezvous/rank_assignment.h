// SPDX-License-Identifier: Apache-2.0
// Pure: members of a view, in group-rank order -> the ranks of their workers.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rankrun::rendezvous {

/// What one node brings into a view.
struct Member {
  std::string role = "default";
  int local_world_size = 1;  ///< workers on this node, at least 1

  bool operator==(const Member&) const = default;
};

/// The ranks of one node's workers: the worker with local rank r has rank first_rank + r and role
/// rank first_role_rank + r.
struct RankAssignment {
  int group_rank = 0;
  int group_world_size = 1;
  int first_rank = 0;
  int world_size = 1;
  int first_role_rank = 0;
  int role_world_size = 1;
  int local_world_size = 1;

  bool operator==(const RankAssignment&) const = default;
};

/// Numbers the workers of `members` through in the order given; nodes may bring different counts.
std::vector<RankAssignment> assign_ranks(std::span<const Member> members);

}  // namespace rankrun::rendezvous
