// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/launch_bench.h"

#include "apps/bench/libraries.h"
#include "apps/bench/parts.h"
#include "apps/bench/program.h"
#include "apps/bench/sleeping_job.h"
#include "apps/bench/statistics.h"
#include "apps/bench/wait.h"
#include "apps/bench/whole_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rankrun::bench {

using base::Duration;
using base::failure;
using base::Result;

namespace {

constexpr int kTorchrunRestarts = 10;
// After their reports workers still turn into sleep, and launchers still do their bookkeeping.
constexpr Duration kSettle = std::chrono::milliseconds(500);

// Sleeping workers -----------------------------------------------------------------------------

constexpr Bar kResidentBar{Bar::Kind::at_most, 8};

struct IdleCost {
  double resident_mib = 0;
  double switches = 0;  // voluntary, of all threads of the launcher
};

Result<double> resident_mib(const SleepingJob& job) {
  if (auto slept = pause_for(kSettle); !slept) return failure(std::move(slept.error()));
  const auto resident = resident_bytes(job.launcher_pid());
  if (!resident) return failure(resident.error());
  return mebibytes(*resident);
}

Result<IdleCost> measure_idle(const Bench& bench, const Launcher& launcher, int seconds) {
  const auto job = SleepingJob::start(launcher, bench.place, {.workers = 2, .max_restarts = 0});
  if (!job) return failure(job.error());
  const auto resident = resident_mib(*job);
  if (!resident) return failure(resident.error());

  const auto before = voluntary_switches(job->launcher_pid());
  auto slept = pause_for(std::chrono::seconds(seconds));
  if (!slept) return failure(std::move(slept.error()));
  const auto after = voluntary_switches(job->launcher_pid());
  if (!before || !after) return failure(before ? after.error() : before.error());
  return IdleCost{*resident, static_cast<double>(*after - *before)};
}

Result<Rows> idle_rows(const Bench& bench, int seconds) {
  constexpr Bar kSwitchesBar{Bar::Kind::at_most, 0};
  const Result<IdleCost> rankrun = measure_idle(bench, bench.launchers.rankrun, seconds);
  if (!rankrun) return failure(rankrun.error());
  Row resident =
      row("resident memory, 2 workers sleep", Unit::mebibytes, rankrun->resident_mib, kResidentBar);
  Row switches = row(fmt::format("voluntary switches, 2 workers sleep {} s", seconds),
                     Unit::count,
                     rankrun->switches,
                     kSwitchesBar);
  std::optional<double> peer_resident;
  std::optional<double> peer_switches;
  if (bench.launchers.torchrun) {
    const Result<IdleCost> torchrun = measure_idle(bench, *bench.launchers.torchrun, seconds);
    if (!torchrun) return failure(torchrun.error());
    peer_resident = torchrun->resident_mib;
    peer_switches = torchrun->switches;
  }
  return Rows{beside_torchrun(std::move(resident), "", peer_resident),
              beside_torchrun(std::move(switches), "", peer_switches)};
}

Result<Rows> crowd_rows(const Bench& bench) {
  constexpr int kCrowd = 64;
  const auto measure = [&](const Launcher& launcher) -> Result<double> {
    const auto job =
        SleepingJob::start(launcher, bench.place, {.workers = kCrowd, .max_restarts = 0});
    if (!job) return failure(job.error());
    return resident_mib(*job);
  };
  const Result<double> rankrun = measure(bench.launchers.rankrun);
  if (!rankrun) return failure(rankrun.error());
  Row resident = row(fmt::format("resident memory, {} workers sleep", kCrowd),
                     Unit::mebibytes,
                     *rankrun,
                     kResidentBar);
  std::optional<double> peer;
  if (bench.launchers.torchrun) {
    const Result<double> torchrun = measure(*bench.launchers.torchrun);
    if (!torchrun) return failure(torchrun.error());
    peer = *torchrun;
  }
  return Rows{beside_torchrun(std::move(resident), "", peer)};
}

// Restarts -------------------------------------------------------------------------------------

Result<Samples> measure_restarts(const Bench& bench, const Launcher& launcher, int restarts) {
  auto job = SleepingJob::start(launcher, bench.place, {.workers = 2, .max_restarts = restarts});
  if (!job) return failure(std::move(job.error()));
  if (auto slept = pause_for(kSettle); !slept) return failure(std::move(slept.error()));
  Samples samples;
  for (int i = 0; i < restarts; ++i) {
    const Result<Duration> time = job->kill_and_restart();
    if (!time) return failure(time.error().within(fmt::format("restart {}", i + 1)));
    samples.push_back(*time);
  }
  return samples;
}

Result<Rows> restart_rows(const Bench& bench, int restarts) {
  constexpr Bar kMedianBar{Bar::Kind::at_most, 5};
  constexpr Bar kTailBar{Bar::Kind::at_most, 20};
  const auto rankrun = measure_restarts(bench, bench.launchers.rankrun, restarts);
  if (!rankrun) return failure(rankrun.error());
  const auto restart_row = [&](const char* which, std::size_t percent, std::optional<Bar> bar) {
    return row(fmt::format("SIGKILL to all restarted, {} of {}", which, restarts),
               Unit::milliseconds,
               milliseconds(percentile(*rankrun, percent)),
               bar);
  };
  Rows rows = {row(fmt::format("SIGKILL to all restarted, p50 of {}", restarts),
                   Unit::milliseconds,
                   milliseconds(median(*rankrun)),
                   kMedianBar),
               restart_row("p99", 99, kTailBar),
               restart_row("max", 100, {})};
  std::optional<double> peer;
  const int peer_restarts = std::min(restarts, kTorchrunRestarts);
  if (bench.launchers.torchrun) {
    const auto torchrun = measure_restarts(bench, *bench.launchers.torchrun, peer_restarts);
    if (!torchrun) return failure(torchrun.error());
    peer = milliseconds(median(*torchrun));
  }
  rows[0] = beside_torchrun(std::move(rows[0]), fmt::format(" (of {})", peer_restarts), peer);
  return rows;
}

// Libraries ------------------------------------------------------------------------------------

Result<Rows> library_rows(const Bench& bench) {
  constexpr Bar kLibrariesBar{Bar::Kind::at_most, 0};
  constexpr Duration kLimit = std::chrono::seconds(10);
  Command command = bench.place.command({bench.launchers.rankrun.path});
  command.environment.push_back("LD_TRACE_LOADED_OBJECTS=1");  // what ldd does
  const Result<std::string> trace = output_of(std::move(command), kLimit);
  if (!trace) return failure(trace.error());
  const std::vector<std::string> further = further_libraries(*trace);
  Row count = row("dynamic libraries beyond libc, libm and the loader",
                  Unit::count,
                  static_cast<double>(further.size()),
                  kLibrariesBar);
  count.note = fmt::format("{}", fmt::join(further, " "));
  return Rows{std::move(count)};
}

}  // namespace

Report run_launch_bench(const LaunchOptions& options) {
  const int runs = options.runs;
  const std::vector<Part> parts = {
      {"launches of 2", [&](const Bench& bench) { return pair_rows(bench, runs); }},
      {"launches of 1, 8 and 64", [&](const Bench& bench) { return overhead_rows(bench, runs); }},
      {"refusals", [&](const Bench& bench) { return refusal_rows(bench, runs); }},
      {"restarts", [&](const Bench& bench) { return restart_rows(bench, options.restarts); }},
      {"idle jobs", [&](const Bench& bench) { return idle_rows(bench, options.idle_seconds); }},
      {"64 idle workers", crowd_rows},
      {"libraries", library_rows}};
  return run_parts("launch", options, parts);
}

}  // namespace rankrun::bench
