// SPDX-License-Identifier: Apache-2.0
// What can go wrong in an agent.
#pragma once

#include <system_error>

namespace rankrun::agent {

enum class errc {
  program_not_found = 1,   ///< the program, script or interpreter does not exist
  program_not_executable,  ///< it exists but may not be run (script: read), or is a directory
  workers_stuck,           ///< processes of an attempt outlived SIGKILL
};

const std::error_category& agent_category();
std::error_code make_error_code(errc code);

}  // namespace rankrun::agent

template <>
struct std::is_error_code_enum<rankrun::agent::errc> : std::true_type {};
