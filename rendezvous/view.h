// SPDX-License-Identifier: Apache-2.0
// Pure: what a rendezvous agrees on.
#pragma once

#include "rendezvous/rank_assignment.h"

#include <cstdint>
#include <string>

namespace rankrun::rendezvous {

/// Counts the views of a job from 1.
enum class ViewId : std::uint64_t {};

/// One committed membership, as this node sees it.
struct View {
  ViewId id{};
  RankAssignment ranks;     ///< of this node's workers
  std::string master_addr;  ///< where the workers' store listens, as workers are told
  std::uint16_t master_port = 0;
  int restart_count = 0;  ///< failure restarts of the job so far

  bool operator==(const View&) const = default;
};

/// How a node's workers ended in a view: all with 0, or at least one otherwise.
enum class Outcome { succeeded, failed };

/// What the job does after a report.
enum class Verdict {
  finish,   ///< the job succeeded
  restart,  ///< ask for the next view
  give_up,  ///< no restart is left
};

}  // namespace rankrun::rendezvous
