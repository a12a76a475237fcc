// SPDX-License-Identifier: Apache-2.0
// Processes by descriptor (Linux 5.4): a number may come to mean another process, this does not.
#pragma once

#include "store/base/unique_fd.h"

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace rankrun::base {

/// Readable when the process has ended. Empty, with errno, when it cannot be had.
inline UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

/// False, with errno, when the signal was not sent.
inline bool send_signal(int pidfd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
}

}  // namespace rankrun::base
