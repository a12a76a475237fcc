// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/launch_bench.h"

#include "apps/bench/launchers.h"
#include "apps/bench/program.h"
#include "apps/bench/sleeping_job.h"
#include "apps/bench/statistics.h"
#include "apps/bench/wait.h"
#include "apps/bench/workplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rankrun::bench {

using base::Duration;
using base::failure;
using base::Result;

namespace {

constexpr Duration kRunLimit = std::chrono::seconds(60);  // torchrun takes 2 s on an idle machine
constexpr int kTorchrunEvery = 5;                         // rounds: it would take most of the time
constexpr int kTorchrunRestarts = 10;
// After their reports workers still turn into sleep, and launchers still do their bookkeeping.
constexpr Duration kSettle = std::chrono::milliseconds(500);

constexpr const char* kProgram = "/bin/true";
constexpr const char* kNoTorchrun = "no torchrun found: run deploy/test.sh --peers";

// What all measurements share; belongs to run_launch_bench.
struct Bench {
  const LaunchOptions& options;
  const Workplace& place;
  const Launchers& launchers;
};

using Rows = std::vector<Row>;

double milliseconds(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

Row row(std::string what, Unit unit, double figure, std::optional<Bar> bar = {}) {
  return {.what = std::move(what),
          .unit = unit,
          .figure = figure,
          .peer = {},
          .bar = bar,
          .load = load_average(),
          .note = {}};
}

// The row compared with torchrun's figure; without torchrun it says why it is not.
Row beside_torchrun(Row row, const std::string& how, std::optional<double> figure) {
  if (figure) {
    row.peer = Peer{fmt::format("torchrun{}", how), *figure};
  } else {
    row.note = kNoTorchrun;
  }
  return row;
}

// Whole commands -------------------------------------------------------------------------------

struct LaunchSamples {
  Samples wall;
  Samples cpu;

  void add(const RunCost& cost) {
    wall.push_back(cost.wall);
    cpu.push_back(cost.cpu);
  }
};

struct Launches {
  LaunchSamples rankrun;
  LaunchSamples bare;  // the two programs without any launcher
  LaunchSamples torchrun;
};

Result<void> sample(LaunchSamples& samples, const std::vector<Command>& commands) {
  const Result<RunCost> cost = run_together(commands, kRunLimit);
  if (!cost) return failure(cost.error());
  samples.add(*cost);
  return {};
}

// In turns, so that what else the machine does falls on all alike.
Result<Launches> measure_launches(const Bench& bench) {
  const auto launch = [&](const Launcher& launcher) {
    return std::vector{
        bench.place.command({launcher.path, "--nproc-per-node=2", "--no-python", kProgram})};
  };
  const std::vector<Command> bare(2, bench.place.command({kProgram}));
  const auto& torchrun = bench.launchers.torchrun;
  Launches launches;
  for (int round = 0; round < bench.options.runs; ++round) {
    auto done = sample(launches.rankrun, launch(bench.launchers.rankrun));
    if (done) done = sample(launches.bare, bare);
    if (done && torchrun && round % kTorchrunEvery == 0) {
      done = sample(launches.torchrun, launch(*torchrun));
    }
    if (!done) return failure(std::move(done.error()));
  }
  return launches;
}

Result<Rows> launch_rows(const Bench& bench) {
  constexpr Bar kTorchrunBar{Bar::Kind::times_below_peer, 100};
  constexpr Bar kBareBar{Bar::Kind::at_most_times_peer, 8};
  constexpr Bar kCpuBar{Bar::Kind::at_most, 6};
  const Result<Launches> launches = measure_launches(bench);
  if (!launches) return failure(launches.error());

  const auto median_ms = [](const Samples& samples) -> std::optional<double> {
    if (samples.empty()) return std::nullopt;
    return milliseconds(median(samples));
  };
  const std::string of = fmt::format("median of {}", launches->rankrun.wall.size());
  const std::string how = fmt::format(" (of {})", launches->torchrun.wall.size());
  const std::string whole = fmt::format("2x {}, whole command, {}", kProgram, of);
  const double wall = *median_ms(launches->rankrun.wall);

  Row bare = row(whole, Unit::milliseconds, wall, kBareBar);
  bare.peer = Peer{"vfork+exec+wait", *median_ms(launches->bare.wall)};
  Row cpu = row(fmt::format("CPU time with workers, {}", of),
                Unit::milliseconds,
                *median_ms(launches->rankrun.cpu),
                kCpuBar);
  return Rows{beside_torchrun(row(whole, Unit::milliseconds, wall, kTorchrunBar),
                              how,
                              median_ms(launches->torchrun.wall)),
              std::move(bare),
              beside_torchrun(std::move(cpu), how, median_ms(launches->torchrun.cpu))};
}

// Sleeping workers -----------------------------------------------------------------------------

struct IdleCost {
  double resident_mib = 0;
  double switches = 0;  // voluntary, of all threads of the launcher
};

Result<IdleCost> measure_idle(const Bench& bench, const Launcher& launcher) {
  const auto job = SleepingJob::start(launcher, bench.place, 0);
  if (!job) return failure(job.error());
  if (auto slept = pause_for(kSettle); !slept) return failure(std::move(slept.error()));
  const auto resident = resident_bytes(job->launcher_pid());
  if (!resident) return failure(resident.error());

  const auto before = voluntary_switches(job->launcher_pid());
  auto slept = pause_for(std::chrono::seconds(bench.options.idle_seconds));
  if (!slept) return failure(std::move(slept.error()));
  const auto after = voluntary_switches(job->launcher_pid());
  if (!before || !after) return failure(before ? after.error() : before.error());
  constexpr double kMebibyte = 1024 * 1024;
  return IdleCost{*resident / kMebibyte, static_cast<double>(*after - *before)};
}

Result<Rows> idle_rows(const Bench& bench) {
  constexpr Bar kResidentBar{Bar::Kind::at_most, 8};
  constexpr Bar kSwitchesBar{Bar::Kind::at_most, 0};
  const Result<IdleCost> rankrun = measure_idle(bench, bench.launchers.rankrun);
  if (!rankrun) return failure(rankrun.error());
  Row resident =
      row("resident memory, 2 workers sleep", Unit::mebibytes, rankrun->resident_mib, kResidentBar);
  Row switches =
      row(fmt::format("voluntary switches, 2 workers sleep {} s", bench.options.idle_seconds),
          Unit::count,
          rankrun->switches,
          kSwitchesBar);
  std::optional<double> peer_resident;
  std::optional<double> peer_switches;
  if (bench.launchers.torchrun) {
    const Result<IdleCost> torchrun = measure_idle(bench, *bench.launchers.torchrun);
    if (!torchrun) return failure(torchrun.error());
    peer_resident = torchrun->resident_mib;
    peer_switches = torchrun->switches;
  }
  return Rows{beside_torchrun(std::move(resident), "", peer_resident),
              beside_torchrun(std::move(switches), "", peer_switches)};
}

// Restarts -------------------------------------------------------------------------------------

Result<Samples> measure_restarts(const Bench& bench, const Launcher& launcher, int restarts) {
  auto job = SleepingJob::start(launcher, bench.place, restarts);
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

Result<Rows> restart_rows(const Bench& bench) {
  constexpr Bar kRestartBar{Bar::Kind::at_most, 50};
  const int restarts = bench.options.restarts;
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
                   milliseconds(median(*rankrun))),
               restart_row("p99", 99, kRestartBar),
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

struct Part {
  const char* name;
  std::function<Result<Rows>(const Bench&)> measure;
};

void measure_parts(const Bench& bench, Report& report) {
  const std::vector<Part> parts = {
      {"launches", launch_rows}, {"restarts", restart_rows}, {"idle jobs", idle_rows}};
  for (const Part& part : parts) {
    std::fprintf(stderr, "rankbench: measuring %s\n", part.name);
    Result<Rows> rows = part.measure(bench);
    if (rows) {
      std::move(rows->begin(), rows->end(), std::back_inserter(report.rows));
      continue;
    }
    report.failures.push_back(rows.error().within(part.name).message());
    if (was_interrupted(rows.error())) return;
  }
}

}  // namespace

Report run_launch_bench(const LaunchOptions& options) {
  Report report;
  report.benchmark = "launch";
  report.machine = describe_machine();
  const InterruptibleWaits interruptible;
  const Result<Workplace> place = Workplace::open(options.environment);
  if (!place) {
    report.failures.push_back(place.error().message());
    return report;
  }
  const Result<Launchers> launchers = find_launchers(options, *place);
  if (!launchers) {
    report.failures.push_back(launchers.error().message());
    return report;
  }
  report.programs.push_back(launchers->rankrun);
  if (launchers->torchrun) report.programs.push_back(*launchers->torchrun);
  measure_parts({options, *place, *launchers}, report);
  return report;
}

}  // namespace rankrun::bench
