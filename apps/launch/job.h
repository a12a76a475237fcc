// SPDX-License-Identifier: Apache-2.0
// Wires the parts of a launch together and runs it.
#pragma once

#include "agent/config.h"

namespace rankrun::launch {

/// Runs the job to its end and returns the exit code of rankrun (agent/README.md has the table).
/// Call it on the main thread before any other is started.
int run_job(const agent::LaunchConfig& config);

}  // namespace rankrun::launch
