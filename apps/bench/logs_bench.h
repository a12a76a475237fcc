// SPDX-License-Identifier: Apache-2.0
// `rankbench logs`: what --tee loses, what it costs, how late it is, and how much memory it takes
// when nobody reads the console.
#pragma once

#include "apps/bench/options.h"
#include "apps/bench/report.h"

namespace rankrun::bench {

Report run_logs_bench(const LogsOptions& options);

}  // namespace rankrun::bench
