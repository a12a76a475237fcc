// SPDX-License-Identifier: Apache-2.0
// What a process waits for, as the kernel tells.
#pragma once

#include "agent/process_table.h"

#include <filesystem>
#include <string>

namespace rankrun::agent {

/// "sleeping in do_wait", "running": its state, and where in the kernel it waits if we may know.
std::string describe_wait(const std::filesystem::path& proc, const ProcessEntry& process);

}  // namespace rankrun::agent
