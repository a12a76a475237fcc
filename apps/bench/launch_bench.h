// SPDX-License-Identifier: Apache-2.0
// `rankbench launch`: what a launch, a restart and an idle job cost, beside torchrun and beside the
// bare system calls.
#pragma once

#include "apps/bench/options.h"
#include "apps/bench/report.h"

namespace rankrun::bench {

/// Measures on this thread and leaves no process or file behind. Says on stderr what it is doing.
Report run_launch_bench(const LaunchOptions& options);

}  // namespace rankrun::bench
