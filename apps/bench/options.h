// SPDX-License-Identifier: Apache-2.0
// Pure: command line and environment -> what to measure. The only reader of flags and variables.
// A further sub-command is a struct here, an alternative of Invocation, an add_... in options.cc
// and a line in main.cc.
#pragma once

#include "store/base/result.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rankrun::bench {

using Environment = std::vector<std::string>;  ///< "NAME=value"

/// `rankbench launch`
struct LaunchOptions {
  std::optional<std::string> rankrun;   ///< as given
  std::optional<std::string> torchrun;  ///< as given
  std::string default_torchrun;         ///< where deploy/test.sh --peers installs it
  int runs = 50;
  int restarts = 100;
  int idle_seconds = 10;
  std::string json;         ///< a path, "-" for stdout, empty for none
  Environment environment;  ///< for the measured programs
};

/// Text to print instead of measuring anything.
struct PrintText {
  std::string text;
};

using Invocation = std::variant<LaunchOptions, PrintText>;

/// Every failure is a usage error. `arguments` is argv without the program's own name.
base::Result<Invocation> parse_invocation(std::vector<std::string> arguments,
                                          Environment environment);

/// The environment of this process.
Environment read_environment();

}  // namespace rankrun::bench
