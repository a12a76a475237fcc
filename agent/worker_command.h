// SPDX-License-Identifier: Apache-2.0
// What to execute for a program as the user named it: finds the interpreter, checks that everything
// is there before anything starts, and fills in the arguments of each worker.
#pragma once

#include "agent/config.h"
#include "agent/process_spec.h"
#include "store/base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::agent {

struct WorkerCommand {
  std::string executable;                  ///< a path that can be executed
  std::vector<std::string> arguments;      ///< argv with templates still in place
  std::optional<std::string> interpreter;  ///< the Python that was chosen, unless --no-python

  bool operator==(const WorkerCommand&) const = default;
};

/// Resolves the program. The interpreter is PYTHON_EXEC, else $VIRTUAL_ENV/bin/python3, else the
/// first python3, then python, of PATH. Fails with errc::program_not_found or
/// errc::program_not_executable.
base::Result<WorkerCommand> resolve_command(const Program& program, const Environment& environment);

/// execvp's search for a program: a name with a slash is a path; an empty element of PATH is the
/// current directory.
base::Result<std::string> find_in_path(const std::string& name, const Environment& environment);

/// Pure: `$local_rank` and `${local_rank}` become the local rank, `$$` becomes `$`, any other `$`
/// stays as it is.
std::string substitute_local_rank(std::string_view text, int local_rank);

/// Pure: what the worker with this local rank reads as stdin. With --stdin-rank only that worker
/// reads ours, on a terminal with job control. Else all inherit it; but several workers would take
/// each other's keystrokes, so on a terminal these read nothing.
Input input_of(const LaunchConfig& config, int local_rank, bool stdin_is_terminal);

}  // namespace rankrun::agent
