// SPDX-License-Identifier: Apache-2.0
// rankbench: measures rankrun and its peers side by side. One sub-command per subject; quick try:
// rankbench launch --runs 3 --restarts 3 --idle-seconds 1
// rankbench logs --lines 1000 --stamps 20
// rankbench orphans --hunts 20 --torchrun-hunts 2
// rankbench store --rounds 1 --milliseconds 50 --scale 2
#include "apps/bench/launch_bench.h"
#include "apps/bench/log_worker.h"
#include "apps/bench/logs_bench.h"
#include "apps/bench/options.h"
#include "apps/bench/orphan_tree.h"
#include "apps/bench/orphans_bench.h"
#include "apps/bench/report.h"
#include "apps/bench/store_bench.h"
#include "apps/bench/store_servers.h"

#include <cstdio>
#include <exception>
#include <string>
#include <variant>

namespace rankrun::bench {
namespace {

bool explain(const base::Result<void>& done) {
  if (!done) std::fprintf(stderr, "rankbench: %s\n", done.error().message().c_str());
  return done.has_value();
}

int finish(const Report& report, const std::string& json) {
  return explain(publish(report, json)) && report.failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace rankrun::bench

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
    if (const auto* worker = std::get_if<LogWorkerOptions>(&*invocation)) {
      return explain(run_log_worker(*worker)) ? 0 : 1;
    }
    if (const auto* tree = std::get_if<OrphanTreeOptions>(&*invocation)) {
      return explain(run_orphan_tree(*tree)) ? 0 : 1;
    }
    if (const auto* orphans = std::get_if<OrphansOptions>(&*invocation)) {
      return finish(run_orphans_bench(*orphans), orphans->json);
    }
    if (const auto* logs = std::get_if<LogsOptions>(&*invocation)) {
      return finish(run_logs_bench(*logs), logs->json);
    }
    if (const auto* server = std::get_if<StoreServerOptions>(&*invocation)) {
      return explain(run_store_server(*server)) ? 0 : 1;
    }
    if (const auto* store = std::get_if<StoreOptions>(&*invocation)) {
      return finish(run_store_bench(*store), store->json);
    }
    const auto& launch = std::get<LaunchOptions>(*invocation);
    return finish(run_launch_bench(launch), launch.json);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "rankbench: internal error: %s; please report it\n", bug.what());
    return 1;
  }
}
