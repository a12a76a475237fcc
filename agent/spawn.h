// SPDX-License-Identifier: Apache-2.0
// The start of a process, from fork to exec.
#pragma once

#include "agent/containment.h"
#include "agent/process_spec.h"
#include "agent/terminal_loan.h"
#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <sys/types.h>

namespace rankrun::agent {

struct Child {
  pid_t pid;
  base::UniqueFd pidfd;
};

/// Starts a process; `terminal` with Input::terminal only. To be called on a thread that lives as
/// long as the agent: the kernel ties the parent-death signal to it. Fails with
/// errc::program_not_found, errc::program_not_executable or the system's code; then nothing runs.
base::Result<Child> spawn(const ProcessSpec& spec, const Ties& ties, const TerminalLoan* terminal);

}  // namespace rankrun::agent
