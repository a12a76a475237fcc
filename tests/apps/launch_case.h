// SPDX-License-Identifier: Apache-2.0
// A command line with a program, understood on a machine with 6 cores and as many GPUs as given.
#pragma once

#include "apps/launch/options.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace rankrun::launch {

using Words = std::vector<std::string>;

inline HostFacts host_with_gpus(int gpus) {
  return {.usable_cpus =
              [] {
                return CpuCount{6, "affinity"};
              },
          .visible_gpus =
              [gpus] {
                return DeviceCount{gpus, "counted by the test"};
              },
          .random_id = "random"};
}

inline agent::LaunchConfig config(Words arguments,
                                  const agent::Environment& env = {},
                                  int gpus = 0) {
  arguments.emplace_back("x.py");
  const auto invocation = parse_invocation(arguments, env, host_with_gpus(gpus));
  if (!invocation) FAIL(invocation.error().error.message());
  return std::get<agent::LaunchConfig>(*invocation);
}

inline UsageError usage_error(Words arguments, const agent::Environment& env = {}, int gpus = 0) {
  arguments.emplace_back("x.py");
  const auto invocation = parse_invocation(arguments, env, host_with_gpus(gpus));
  REQUIRE_FALSE(invocation);
  return invocation.error();
}

inline std::string refused(Words arguments, const agent::Environment& env = {}, int gpus = 0) {
  return usage_error(std::move(arguments), env, gpus).error.message();
}

}  // namespace rankrun::launch
