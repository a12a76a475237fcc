// SPDX-License-Identifier: Apache-2.0
// rankbench: measures rankrun and its peers side by side. One sub-command per subject; quick try:
// rankbench launch --runs 3 --restarts 3 --idle-seconds 1
#include "apps/bench/launch_bench.h"
#include "apps/bench/options.h"
#include "apps/bench/report.h"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  using namespace rankrun::bench;
  constexpr int kUsageError = 2;
  try {
    const auto invocation =
        parse_invocation({argv + (argc > 0 ? 1 : 0), argv + argc}, read_environment());
    if (!invocation) {
      std::fprintf(stderr, "rankbench: error: %s\n", invocation.error().message().c_str());
      return kUsageError;
    }
    if (const auto* print = std::get_if<PrintText>(&*invocation)) {
      return std::fputs(print->text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
    }
    const auto& options = std::get<LaunchOptions>(*invocation);
    const Report report = run_launch_bench(options);
    const auto published = publish(report, options.json);
    if (!published) std::fprintf(stderr, "rankbench: %s\n", published.error().message().c_str());
    return published && report.failures.empty() ? 0 : 1;
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "rankbench: internal error: %s; please report it\n", bug.what());
    return 1;
  }
}
