// SPDX-License-Identifier: Apache-2.0
#include "agent/exit_code.h"

#include "agent/errc.h"

namespace rankrun::agent {

namespace {

constexpr int kAnyFailure = 1;  // also torchrun's only code of a failure

}  // namespace

int exit_code(const Ending& ending, ExitCodeStyle style) {
  const bool succeeded = !ending.stop_signal && !ending.error && !ending.failure && !ending.hang;
  if (succeeded) return 0;
  if (style == ExitCodeStyle::torchrun) return kAnyFailure;
  if (ending.stop_signal) return shell_code(ExitStatus::signaled(*ending.stop_signal, false));
  if (ending.error) return exit_code(*ending.error, style);
  return ending.failure ? shell_code(ending.failure->status) : kAnyFailure;
}

int exit_code(const base::Error& error, ExitCodeStyle style) {
  if (style == ExitCodeStyle::torchrun) return kAnyFailure;
  if (error.code == errc::program_not_found) return 127;
  if (error.code == errc::program_not_executable) return 126;
  return 1;
}

}  // namespace rankrun::agent
