// SPDX-License-Identifier: Apache-2.0
// The processes of this machine, as procfs tells of them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>

namespace rankrun::agent {

/// One process, as it was a moment ago.
struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  bool is_zombie = false;
};

/// Calls `visit` for each process. `proc` is where procfs is mounted.
void for_each_process(const std::filesystem::path& proc,
                      const std::function<void(const ProcessEntry&)>& visit);

}  // namespace rankrun::agent
