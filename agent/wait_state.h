// SPDX-License-Identifier: Apache-2.0
// What a process waits for, as the kernel tells.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace rankrun::agent {

/// Of a process's files in procfs; empty: not readable.
struct KernelWait {
  char state = '?';         ///< as in proc(5)
  std::string channel;      ///< wchan
  std::string call_stack;   ///< stack
  std::string system_call;  ///< syscall
};

/// `proc` is where procfs is mounted.
KernelWait read_wait(const std::filesystem::path& proc, pid_t pid);

/// "asleep in do_wait, system call 61".
std::string describe(const KernelWait& wait);

}  // namespace rankrun::agent
