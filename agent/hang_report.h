// SPDX-License-Identifier: Apache-2.0
// Pure: what is shown of a worker while its job hangs.
#pragma once

#include "agent/hang_watch.h"
#include "agent/wait_state.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace rankrun::agent {

struct HungWorker {
  int rank = 0;
  int local_rank = 0;
  pid_t pid = 0;
  bool is_hung = false;  ///< or only beside one that is
  Silence silence;
  std::optional<base::Duration> since_output;  ///< nothing before the first
  std::string last_line;
  KernelWait kernel;
  std::string stack_source;  ///< what has printed the stack, or why there is none
  std::string stack;         ///< lines
};

/// The global ranks of those that hang.
std::vector<int> ranks_of(const Hang& hang, int first_rank);

/// "ranks 0-3 hang: no progress for 300.2 s".
std::string describe(const Hang& hang, int first_rank);

/// A block of lines.
std::string format_hung_worker(const HungWorker& worker);

/// "2.5 s".
std::string seconds_text(base::Duration duration);

}  // namespace rankrun::agent
