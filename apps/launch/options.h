// SPDX-License-Identifier: Apache-2.0
// Pure: command line and environment -> what to do, as plain values. The only reader of flags and
// PET_* variables.
#pragma once

#include "agent/config.h"
#include "store/base/result.h"

#include <functional>
#include <span>
#include <string>
#include <variant>

namespace rankrun::launch {

/// GPUs that a worker sees, and how the number was found, for a person.
struct DeviceCount {
  int visible = 0;
  std::string how;
};

/// CPU cores that the job may use, and how the number was found, for a person.
struct CpuCount {
  int usable = 1;
  std::string how;
};

/// What the parser needs to know of this machine and moment. What costs time is a function, called
/// only when an option asks.
struct HostFacts {
  std::function<CpuCount()> usable_cpus;
  std::function<DeviceCount()> visible_gpus;
  std::string random_id;  ///< the job id when none is given
};

/// Text to print instead of launching anything.
struct PrintText {
  std::string text;
};

using Invocation = std::variant<agent::LaunchConfig, PrintText>;

/// Why nothing is launched.
struct UsageError {
  base::Error error;
  int exit_code = 2;  ///< 1 for a bad value with --exit-code=torchrun
};

/// Understands and checks everything that can be checked without touching the system. `arguments`
/// is argv without the program's own name.
[[nodiscard]] tl::expected<Invocation, UsageError> parse_invocation(
    std::span<const std::string> arguments,
    const agent::Environment& environment,
    const HostFacts& host);

}  // namespace rankrun::launch
