// SPDX-License-Identifier: Apache-2.0
// rankrun: launches the workers of a distributed training job on this node and keeps them alive.
#include "apps/launch/host.h"
#include "apps/launch/job.h"
#include "apps/launch/options.h"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  using namespace rankrun;
  try {
    launch::open_standard_descriptors();
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    const auto environment = launch::read_environment();
    const auto invocation =
        launch::parse_invocation(arguments, environment, launch::probe_host(environment));
    if (!invocation) {
      std::fprintf(stderr, "rankrun: error: %s\n", invocation.error().error.message().c_str());
      return invocation.error().exit_code;
    }
    if (const auto* print = std::get_if<launch::PrintText>(&*invocation)) {
      return std::fputs(print->text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
    }
    return launch::run_job(std::get<agent::LaunchConfig>(*invocation));
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "rankrun: internal error: %s; please report it\n", bug.what());
    return 1;
  }
}
