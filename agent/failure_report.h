// SPDX-License-Identifier: Apache-2.0
// Pure: what ended the job -> the text a person reads and the exit code a scheduler reads.
#pragma once

#include "agent/state.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace rankrun::agent {

/// Everything the final block says about the first failing worker.
struct FailureReport {
  std::string entry_name;  ///< the program as the user typed it
  std::string time;        ///< local time, YYYY-MM-DD_HH:MM:SS
  std::string host;
  int rank = 0;
  int local_rank = 0;
  pid_t pid = 0;
  ExitStatus status = ExitStatus::exited(1);
  std::string error_file;               ///< empty: the worker wrote none
  std::vector<std::string> last_lines;  ///< of its stderr, oldest first
  std::optional<std::string> interpreter;
};

/// The final block, many lines, each ended by a newline. Control characters of the worker's text
/// are shown escaped.
std::string format_failure(const FailureReport& report);

/// "exited with 3", "was killed by SIGKILL", "was killed by SIGSEGV (core dumped)".
std::string describe(const ExitStatus& status);

/// "SIGTERM"; "signal 64" for one without a name.
std::string signal_name(int signal);

/// The exit code of rankrun (agent/README.md has the table).
int exit_code(const Ending& ending);

/// 127 for a program that was not found, 126 for one that cannot be executed, else 1.
int exit_code(const base::Error& error);

}  // namespace rankrun::agent
