// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/rank_assignment.h"

#include <catch2/catch.hpp>

namespace rankrun::rendezvous {
namespace {

TEST_CASE("one node has all ranks", "[rendezvous][ranks]") {
  const auto ranks = assign_ranks(std::vector<Member>{{"trainer", 4}});
  REQUIRE(ranks.size() == 1);
  CHECK(ranks[0] == RankAssignment{.group_rank = 0,
                                   .group_world_size = 1,
                                   .first_rank = 0,
                                   .world_size = 4,
                                   .first_role_rank = 0,
                                   .role_world_size = 4,
                                   .local_world_size = 4});
}

TEST_CASE("nodes of different sizes and roles are numbered through in order",
          "[rendezvous][ranks]") {
  const auto ranks =
      assign_ranks(std::vector<Member>{{"trainer", 2}, {"reader", 3}, {"trainer", 1}});
  REQUIRE(ranks.size() == 3);
  CHECK(ranks[1] == RankAssignment{.group_rank = 1,
                                   .group_world_size = 3,
                                   .first_rank = 2,
                                   .world_size = 6,
                                   .first_role_rank = 0,
                                   .role_world_size = 3,
                                   .local_world_size = 3});
  CHECK(ranks[2] == RankAssignment{.group_rank = 2,
                                   .group_world_size = 3,
                                   .first_rank = 5,
                                   .world_size = 6,
                                   .first_role_rank = 2,
                                   .role_world_size = 3,
                                   .local_world_size = 1});
}

TEST_CASE("no member, no rank", "[rendezvous][ranks]") {
  CHECK(assign_ranks(std::vector<Member>{}).empty());
}

}  // namespace
}  // namespace rankrun::rendezvous
