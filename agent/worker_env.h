// SPDX-License-Identifier: Apache-2.0
// Pure: ranks -> the environment of a worker, as torchrun sets it.
#pragma once

#include "agent/config.h"
#include "rendezvous/view.h"

#include <string>
#include <vector>

namespace rankrun::agent {

/// What a worker may write; empty: it may not.
struct WorkerFiles {
  std::string error;
  std::string heartbeat;
};

/// The environment of the worker with this local rank: the agent's own with the worker's variables
/// on top. A virtual local rank must be within the environment's CUDA_VISIBLE_DEVICES.
Environment worker_environment(const LaunchConfig& config,
                               const rendezvous::View& view,
                               int local_rank,
                               const WorkerFiles& files);

/// "NAME=value" lines, in order of name.
std::vector<std::string> environment_lines(const Environment& environment);

}  // namespace rankrun::agent
