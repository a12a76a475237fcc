// SPDX-License-Identifier: Apache-2.0
// `rankbench log-worker`: writes what its options say to stdout, by plain system calls.
#pragma once

#include "apps/bench/options.h"
#include "store/base/result.h"

namespace rankrun::bench {

base::Result<void> run_log_worker(const LogWorkerOptions& options);

}  // namespace rankrun::bench
