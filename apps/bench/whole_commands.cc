// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/whole_commands.h"

#include "apps/bench/program.h"
#include "apps/bench/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rankrun::bench {

using base::failure;
using base::Result;

namespace {

constexpr base::Duration kRunLimit = std::chrono::seconds(60);  // torchrun: 2 s on an idle machine
constexpr const char* kProgram = "/bin/true";

struct CommandSamples {
  Samples wall;
  Samples cpu;
};

struct Launches {
  CommandSamples rankrun;
  CommandSamples bare;  // the programs without any launcher
  CommandSamples torchrun;
  Samples overhead;  // of rankrun over bare, in the same round
};

Result<void> sample(CommandSamples& samples, const std::vector<Command>& commands) {
  const Result<RunCost> cost = run_together(commands, kRunLimit);
  if (!cost) return failure(cost.error());
  samples.wall.push_back(cost->wall);
  samples.cpu.push_back(cost->cpu);
  return {};
}

// In turns, so that what else the machine does falls on all alike. torchrun takes seconds, so it
// runs in few of the rounds, evenly spread.
Result<Launches> measure_launches(const Bench& bench, int workers, int runs, int torchrun_runs) {
  const auto launch = [&](const Launcher& launcher) {
    const std::string count = fmt::format("--nproc-per-node={}", workers);
    return std::vector{bench.place.command({launcher.path, count, "--no-python", kProgram})};
  };
  const std::vector<Command> bare(static_cast<std::size_t>(workers),
                                  bench.place.command({kProgram}));
  const auto& torchrun = bench.launchers.torchrun;
  const int torchrun_every = std::max(1, runs / torchrun_runs);
  Launches launches;
  for (int round = 0; round < runs; ++round) {
    auto done = sample(launches.rankrun, launch(bench.launchers.rankrun));
    if (done) done = sample(launches.bare, bare);
    if (done && torchrun && round % torchrun_every == 0) {
      done = sample(launches.torchrun, launch(*torchrun));
    }
    if (!done) return failure(std::move(done.error()));
    launches.overhead.push_back(launches.rankrun.wall.back() - launches.bare.wall.back());
  }
  return launches;
}

std::optional<double> median_ms(const Samples& samples) {
  if (samples.empty()) return std::nullopt;
  return milliseconds(median(samples));
}

std::string of(const Samples& samples) {
  return fmt::format("(of {})", samples.size());
}

Row beside_torchrun(Row row, const Samples& torchrun) {
  return beside_torchrun(std::move(row), " " + of(torchrun), median_ms(torchrun));
}

struct OverheadCase {
  int workers;
  double most_ms;  // that the launcher may add
};

Result<Rows> overhead_rows(const Bench& bench, const OverheadCase& wanted, int runs) {
  constexpr int kTorchrunRuns = 2;
  const auto launches = measure_launches(bench, wanted.workers, runs, kTorchrunRuns);
  if (!launches) return failure(launches.error());
  const std::string whole = fmt::format("{}x {}, whole command", wanted.workers, kProgram);
  Row wall = row(fmt::format("{}, median {}", whole, of(launches->rankrun.wall)),
                 Unit::milliseconds,
                 *median_ms(launches->rankrun.wall));
  Row overhead = row(fmt::format("{} minus vfork+exec+wait", whole),
                     Unit::milliseconds,
                     *median_ms(launches->overhead),
                     Bar{Bar::Kind::at_most, wanted.most_ms});
  overhead.note = fmt::format("vfork+exec+wait: {:.2f} ms", *median_ms(launches->bare.wall));
  return Rows{beside_torchrun(std::move(wall), launches->torchrun.wall), std::move(overhead)};
}

}  // namespace

Result<Rows> pair_rows(const Bench& bench, int runs) {
  constexpr Bar kTorchrunBar{Bar::Kind::times_below_peer, 100};
  constexpr Bar kBareBar{Bar::Kind::at_most_times_peer, 8};
  constexpr Bar kCpuBar{Bar::Kind::at_most, 6};
  constexpr int kTorchrunRuns = 10;
  const Result<Launches> launches = measure_launches(bench, 2, runs, kTorchrunRuns);
  if (!launches) return failure(launches.error());

  const std::string median_of = fmt::format("median {}", of(launches->rankrun.wall));
  const std::string whole = fmt::format("2x {}, whole command, {}", kProgram, median_of);
  const double wall = *median_ms(launches->rankrun.wall);
  Row bare = row(whole, Unit::milliseconds, wall, kBareBar);
  bare.peer = Peer{"vfork+exec+wait", *median_ms(launches->bare.wall)};
  Row cpu = row(fmt::format("CPU time with workers, {}", median_of),
                Unit::milliseconds,
                *median_ms(launches->rankrun.cpu),
                kCpuBar);
  return Rows{
      beside_torchrun(row(whole, Unit::milliseconds, wall, kTorchrunBar), launches->torchrun.wall),
      std::move(bare),
      beside_torchrun(std::move(cpu), launches->torchrun.cpu)};
}

Result<Rows> overhead_rows(const Bench& bench, int runs) {
  Rows all;
  for (const OverheadCase& wanted : {OverheadCase{1, 3}, {8, 6}, {64, 30}}) {
    const Result<Rows> rows = overhead_rows(bench, wanted, runs);
    if (!rows) return failure(rows.error());
    all.insert(all.end(), rows->begin(), rows->end());
  }
  return all;
}

Result<Rows> refusal_rows(const Bench& bench, int runs) {
  constexpr Bar kRefusalBar{Bar::Kind::at_most, 100};
  constexpr int kUsageError = 2;
  const auto measure = [&](const Launcher& launcher, int times) -> Result<CommandSamples> {
    Command command = bench.place.command({launcher.path, "--no-such-flag", kProgram});
    command.exit_code = kUsageError;
    CommandSamples samples;
    for (int i = 0; i < times; ++i) {
      if (auto done = sample(samples, {command}); !done) return failure(std::move(done.error()));
    }
    return samples;
  };
  const auto rankrun = measure(bench.launchers.rankrun, runs);
  if (!rankrun) return failure(rankrun.error());
  Result<CommandSamples> torchrun = CommandSamples{};
  if (bench.launchers.torchrun) torchrun = measure(*bench.launchers.torchrun, 1);
  if (!torchrun) return failure(torchrun.error());
  Row refused = row(fmt::format("an unknown flag, whole command, median {}", of(rankrun->wall)),
                    Unit::milliseconds,
                    *median_ms(rankrun->wall),
                    kRefusalBar);
  return Rows{beside_torchrun(std::move(refused), torchrun->wall)};
}

}  // namespace rankrun::bench
