// SPDX-License-Identifier: Apache-2.0
// Pure: the options that say which job this is, and where its workers meet.
#pragma once

#include "agent/config.h"
#include "apps/launch/argument_rules.h"
#include "store/base/result.h"

#include <string>

namespace rankrun::launch {

/// Sets run_id, master_addr and master_port. `random_id` is the id of a job that has none.
base::Result<void> apply_rendezvous_options(const ParsedArguments& arguments,
                                            const std::string& random_id,
                                            agent::LaunchConfig& config);

}  // namespace rankrun::launch
