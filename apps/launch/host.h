// SPDX-License-Identifier: Apache-2.0
// Reads what the process was given by its host: environment, CPUs, GPUs, descriptors.
#pragma once

#include "agent/config.h"
#include "apps/launch/options.h"

namespace rankrun::launch {

/// Opens 0, 1 and 2 on /dev/null where they are closed, so that nothing else gets these numbers.
void open_standard_descriptors();

/// The environment of this process. Call it on the main thread, before others are started.
agent::Environment read_environment();

/// `environment` tells which devices are visible.
HostFacts probe_host(const agent::Environment& environment);

}  // namespace rankrun::launch
