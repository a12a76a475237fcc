// SPDX-License-Identifier: Apache-2.0
// What /proc and the kernel say of this machine and of single processes.
#pragma once

#include "store/base/result.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace rankrun::bench {

/// What figures depend on and a reader cannot guess.
struct Machine {
  std::string cpu_model;
  unsigned cores = 0;  ///< online
  std::string kernel;
};

Machine describe_machine();

/// Over the last minute.
double load_average();

/// VmRSS and VmHWM, in bytes.
base::Result<double> resident_bytes(pid_t process);
base::Result<double> peak_resident_bytes(pid_t process);

/// RssAnon, in bytes: what no other process shares.
base::Result<double> private_bytes(pid_t process);

/// How often its threads have given up the CPU by themselves so far.
base::Result<long> voluntary_switches(pid_t process);

/// The children of its main thread that are not reaped yet.
std::vector<pid_t> children_of(pid_t process);

/// At most 15 characters; empty when it is gone.
std::string name_of(pid_t process);

}  // namespace rankrun::bench
