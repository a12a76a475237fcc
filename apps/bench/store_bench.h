// SPDX-License-Identifier: Apache-2.0
// `rankbench store`: our store server beside both of PyTorch's and the least that any server costs,
// in turns.
#pragma once

#include "apps/bench/options.h"
#include "apps/bench/report.h"

namespace rankrun::bench {

Report run_store_bench(const StoreOptions& options);

}  // namespace rankrun::bench
