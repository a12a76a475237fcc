// SPDX-License-Identifier: Apache-2.0
// Pure: command line and environment -> what to do, as plain values. The only reader of flags and
// PET_* variables.
#pragma once

#include "agent/config.h"
#include "store/base/result.h"

#include <span>
#include <string>
#include <variant>

namespace rankrun::launch {

/// What the parser needs to know of this machine and moment.
struct HostFacts {
  int usable_cpus = 1;    ///< by CPU affinity
  int gpus = 0;           ///< GPU devices present
  std::string random_id;  ///< the job id when none is given
};

/// Text to print instead of launching anything.
struct PrintText {
  std::string text;
};

using Invocation = std::variant<agent::LaunchConfig, PrintText>;

/// Understands and checks everything that can be checked without touching the system. `arguments`
/// is argv without the program's own name. Every failure is a usage error (exit code 2).
base::Result<Invocation> parse_invocation(std::span<const std::string> arguments,
                                          const agent::Environment& environment,
                                          const HostFacts& host);

}  // namespace rankrun::launch
