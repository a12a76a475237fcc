// SPDX-License-Identifier: Apache-2.0
// `rankbench orphans`: kills launchers and workers at random moments and looks for what stays.
#pragma once

#include "apps/bench/options.h"
#include "apps/bench/report.h"

namespace rankrun::bench {

/// A hunt in which rankrun leaves a process behind is a failure of the report.
Report run_orphans_bench(const OrphansOptions& options);

}  // namespace rankrun::bench
