// SPDX-License-Identifier: Apache-2.0
// A terminal for a worker's stderr where ours is one, so that colours and progress bars stay while
// we read along.
#pragma once

#include "store/base/unique_fd.h"

#include <optional>

namespace rankrun::agent {

struct PseudoTerminal {
  base::UniqueFd read_end;
  base::UniqueFd worker_end;

  /// Passes bytes unchanged and is as large as the terminal `like`. Nothing when the system has
  /// none to give.
  static std::optional<PseudoTerminal> open(int like);
};

/// Gives the pseudo terminal behind `read_end` the size of the terminal `like`.
void copy_terminal_size(int like, int read_end);

}  // namespace rankrun::agent
