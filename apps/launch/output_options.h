// SPDX-License-Identifier: Apache-2.0
// Pure: the options that say where output, reports and events go.
#pragma once

#include "agent/config.h"
#include "apps/launch/argument_rules.h"
#include "store/base/result.h"

namespace rankrun::launch {

/// Sets `config.output`, the log directory, the report and the events. Reads the environment in
/// `config`.
base::Result<void> apply_output_options(const ParsedArguments& arguments,
                                        agent::LaunchConfig& config);

}  // namespace rankrun::launch
