// SPDX-License-Identifier: Apache-2.0
// Pure: the options that say what a worker runs, how many there are, and how they end.
#pragma once

#include "agent/config.h"
#include "apps/launch/argument_rules.h"
#include "apps/launch/options.h"
#include "store/base/result.h"

namespace rankrun::launch {

/// Sets the program, the number of workers and what each of them gets. A number that was found on
/// this machine is told in a notice.
base::Result<void> apply_worker_options(const ParsedArguments& arguments,
                                        const HostFacts& host,
                                        agent::LaunchConfig& config);

/// Sets restarts, signals and timeouts.
base::Result<void> apply_ending_options(const ParsedArguments& arguments,
                                        agent::LaunchConfig& config);

}  // namespace rankrun::launch
