// SPDX-License-Identifier: Apache-2.0
// Pure: the variables by which torchrun watches its workers and itself is watched.
#pragma once

#include "agent/config.h"

#include <string>

namespace rankrun::launch {

/// Sets timer_file and health by the configuration's environment; a value that is of no use becomes
/// a notice. `random_id` makes a name that nobody else has.
void apply_watch_variables(const std::string& random_id, agent::LaunchConfig& config);

}  // namespace rankrun::launch
