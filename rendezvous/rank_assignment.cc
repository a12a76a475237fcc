// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/rank_assignment.h"

#include <map>

namespace rankrun::rendezvous {

std::vector<RankAssignment> assign_ranks(std::span<const Member> members) {
  std::vector<RankAssignment> assignments;
  std::map<std::string, int> role_sizes;
  int world_size = 0;
  for (const Member& member : members) {
    int& role_size = role_sizes[member.role];
    assignments.push_back(RankAssignment{
        .group_rank = static_cast<int>(assignments.size()),
        .group_world_size = static_cast<int>(members.size()),
        .first_rank = world_size,
        .first_role_rank = role_size,
        .local_world_size = member.local_world_size,
    });
    world_size += member.local_world_size;
    role_size += member.local_world_size;
  }
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    assignments[i].world_size = world_size;
    assignments[i].role_world_size = role_sizes[members[i].role];
  }
  return assignments;
}

}  // namespace rankrun::rendezvous
