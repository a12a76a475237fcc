// SPDX-License-Identifier: Apache-2.0
// Pure: ranks -> the environment of a worker, as torchrun sets it.
#pragma once

#include "agent/config.h"
#include "rendezvous/view.h"

#include <string>
#include <vector>

namespace rankrun::agent {

/// The environment of the worker with this local rank: the agent's own with the worker's variables
/// on top. `error_file` is empty when there is no log directory. A virtual local rank must be
/// within the environment's CUDA_VISIBLE_DEVICES.
Environment worker_environment(const LaunchConfig& config,
                               const rendezvous::View& view,
                               int local_rank,
                               const std::string& error_file);

/// "NAME=value" lines, in order of name.
std::vector<std::string> environment_lines(const Environment& environment);

}  // namespace rankrun::agent
