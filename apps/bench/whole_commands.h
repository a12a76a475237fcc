// SPDX-License-Identifier: Apache-2.0
// Whole commands, from vfork to the exit status: launches of workers that end at once, beside the
// same programs without a launcher and beside torchrun; and a command line that is refused.
#pragma once

#include "apps/bench/parts.h"

namespace rankrun::bench {

/// Two workers, with CPU time.
base::Result<Rows> pair_rows(const Bench& bench, int runs);

/// 1, 8 and 64 workers: what the launcher adds to the programs themselves.
base::Result<Rows> overhead_rows(const Bench& bench, int runs);

base::Result<Rows> refusal_rows(const Bench& bench, int runs);

}  // namespace rankrun::bench
