// SPDX-License-Identifier: Apache-2.0
// Pure: what ended the job -> the exit code a scheduler reads (README.md has the table).
#pragma once

#include "agent/config.h"
#include "agent/state.h"

namespace rankrun::agent {

/// The exit code of rankrun.
int exit_code(const Ending& ending, ExitCodeStyle style);

/// 127 for a program that was not found, 126 for one that cannot be executed, else 1.
int exit_code(const base::Error& error, ExitCodeStyle style);

}  // namespace rankrun::agent
