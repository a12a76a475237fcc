// SPDX-License-Identifier: Apache-2.0
// A console with us at its far end: a pipe, or a terminal.
#pragma once

#include "store/base/result.h"
#include "store/base/unique_fd.h"

namespace rankrun::bench {

enum class ConsoleKind { pipe, terminal };

struct ConsoleEnds {
  base::UniqueFd read_end;   ///< ours
  base::UniqueFd write_end;  ///< the stdout of a program
};

/// The terminal passes bytes on as they are, and becomes nobody's controlling terminal.
base::Result<ConsoleEnds> open_console(ConsoleKind kind);

}  // namespace rankrun::bench
