// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/logs_bench.h"

#include "apps/bench/line_check.h"
#include "apps/bench/log_work.h"
#include "apps/bench/machine.h"
#include "apps/bench/parts.h"
#include "apps/bench/statistics.h"
#include "apps/bench/tee_job.h"
#include "apps/bench/wait.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankrun::bench {

using base::Clock;
using base::Duration;
using base::failure;
using base::Result;
using base::TimePoint;

namespace {

const char* name_of(ConsoleKind kind) {
  return kind == ConsoleKind::pipe ? "a pipe" : "a terminal";
}

// The measurement of rankrun, and of torchrun if there is one.
template <typename Figures>
struct Pair {
  Figures rankrun;
  std::optional<Figures> torchrun;

  /// One figure of torchrun.
  template <typename Pick>
  std::optional<double> peer(Pick pick) const {
    if (!torchrun) return std::nullopt;
    return pick(*torchrun);
  }
};

template <typename Figures, typename Measure>
Result<Pair<Figures>> measure_both(const Bench& bench, Measure measure) {
  Result<Figures> rankrun = measure(bench.launchers.rankrun);
  if (!rankrun) return failure(std::move(rankrun.error()));
  Pair<Figures> both{.rankrun = std::move(*rankrun), .torchrun = {}};
  if (!bench.launchers.torchrun) return both;
  Result<Figures> torchrun = measure(*bench.launchers.torchrun);
  if (!torchrun) return failure(std::move(torchrun.error()));
  both.torchrun = std::move(*torchrun);
  return both;
}

// Many lines -----------------------------------------------------------------------------------

struct Moment {
  TimePoint time;
  Duration cpu{};  // that the launcher alone has used so far
};

struct Transfer {
  LineFaults faults;
  double wall_us = 0;  // per line, from the first output to the last: without the launch
  double cpu_us = 0;   // of the launcher alone, per line, in the same time
};

std::vector<std::string> work_words(int lines, std::uint64_t seed) {
  return {fmt::format("--lines={}", lines), fmt::format("--seed={}", seed)};
}

Result<Transfer> measure_transfer(const Bench& bench,
                                  const Launcher& launcher,
                                  const LogsOptions& options,
                                  ConsoleKind kind) {
  auto job = TeeJob::start(
      bench, launcher, options.workers, work_words(options.lines, options.seed), kind);
  if (!job) return failure(std::move(job.error()));
  LineCheck check(options.workers, options.lines);
  std::optional<Moment> first;
  Moment last;
  const auto done = job->read_all([&](std::string_view bytes) {
    last = {.time = Clock::now(), .cpu = job->launcher().own_cpu()};
    first = first.value_or(last);
    check.add(bytes);
  });
  if (!done) return failure(done.error());
  if (!first) return failure({}, launcher.name + " showed no line");
  const double lines = static_cast<double>(options.workers) * options.lines;
  return Transfer{.faults = check.finish(),
                  .wall_us = microseconds(last.time - first->time) / lines,
                  .cpu_us = microseconds(last.cpu - first->cpu) / lines};
}

std::string per_second(double microseconds) {
  constexpr double kThousandInMillion = 1000;
  return fmt::format("{:.0f} thousand lines/s", kThousandInMillion / microseconds);
}

// What exactly went wrong, and how fast each was.
void explain(const Pair<Transfer>& both, Row& faults, Row& wall) {
  const auto add = [](Row& row, const std::string& text) {
    row.note += (row.note.empty() ? "" : "; ") + text;
  };
  const auto tell = [&](const std::string& name, const Transfer& transfer) {
    const std::string bad = to_text(transfer.faults);
    if (!bad.empty()) add(faults, fmt::format("{}: {}", name, bad));
    add(wall, fmt::format("{}: {}", name, per_second(transfer.wall_us)));
  };
  tell("rankrun", both.rankrun);
  if (both.torchrun) tell("torchrun", *both.torchrun);
}

Result<Rows> transfer_rows(const Bench& bench, const LogsOptions& options, ConsoleKind kind) {
  constexpr Bar kFaultsBar{Bar::Kind::at_most, 0};
  constexpr Bar kSpeedBar{Bar::Kind::times_below_peer, 5};
  const auto both = measure_both<Transfer>(bench, [&](const Launcher& launcher) {
    return measure_transfer(bench, launcher, options, kind);
  });
  if (!both) return failure(both.error());
  const auto faults_of = [](const Transfer& transfer) -> double {
    return static_cast<double>(transfer.faults.sum());
  };
  const std::string what =
      fmt::format("{}x {} lines through {}", options.workers, options.lines, name_of(kind));
  Row faults = row(what + ", lost, torn, mixed or prefixed twice",
                   Unit::count,
                   faults_of(both->rankrun),
                   kFaultsBar);
  Row wall = row(what + ", time per line", Unit::microseconds, both->rankrun.wall_us, kSpeedBar);
  Row cpu =
      row(what + ", launcher's CPU per line", Unit::microseconds, both->rankrun.cpu_us, kSpeedBar);
  faults = beside_torchrun(std::move(faults), "", both->peer(faults_of));
  wall = beside_torchrun(
      std::move(wall), "", both->peer([](const Transfer& transfer) { return transfer.wall_us; }));
  cpu = beside_torchrun(
      std::move(cpu), "", both->peer([](const Transfer& transfer) { return transfer.cpu_us; }));
  explain(*both, faults, wall);
  return Rows{std::move(faults), std::move(wall), std::move(cpu)};
}

// One line now and then ------------------------------------------------------------------------

Result<Samples> measure_latency(const Bench& bench,
                                const Launcher& launcher,
                                int stamps,
                                ConsoleKind kind) {
  auto job = TeeJob::start(bench, launcher, 1, {fmt::format("--stamps={}", stamps)}, kind);
  if (!job) return failure(std::move(job.error()));
  Samples samples;
  std::string rest;
  const auto done = job->read_all([&](std::string_view bytes) {
    const TimePoint now = Clock::now();
    rest += bytes;
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
      const auto stamp = decode_stamp(std::string_view(rest).substr(0, end));
      if (stamp) samples.push_back(now - *stamp);
      rest.erase(0, end + 1);
    }
  });
  if (!done) return failure(done.error());
  if (samples.empty()) return failure({}, launcher.name + " showed no line");
  return samples;
}

Result<Rows> latency_rows(const Bench& bench, const LogsOptions& options, ConsoleKind kind) {
  constexpr Bar kLatencyBar{Bar::Kind::at_most, 5};
  const auto both = measure_both<Samples>(bench, [&](const Launcher& launcher) {
    return measure_latency(bench, launcher, options.stamps, kind);
  });
  if (!both) return failure(both.error());
  const auto latency_row = [&](std::size_t percent, std::optional<Bar> bar) {
    const auto figure = [&](const Samples& samples) -> double {
      return milliseconds(percentile(samples, percent));
    };
    Row latency = row(fmt::format("written to seen through {}, idle, p{} of {}",
                                  name_of(kind),
                                  percent,
                                  both->rankrun.size()),
                      Unit::milliseconds,
                      figure(both->rankrun),
                      bar);
    return beside_torchrun(std::move(latency), "", both->peer(figure));
  };
  return Rows{latency_row(50, {}), latency_row(99, kLatencyBar)};
}

// A console that nobody reads ------------------------------------------------------------------

Result<double> measure_unread(const Bench& bench,
                              const Launcher& launcher,
                              const LogsOptions& options) {
  // More than fits into everything on the way. By then the workers wait for the launcher, and it
  // for us; torchrun lets them go on.
  constexpr int kLines = 250'000;
  constexpr Duration kSettle = std::chrono::seconds(3);
  const auto words = work_words(kLines, options.seed);
  const auto job = TeeJob::start(bench, launcher, options.workers, words, ConsoleKind::pipe);
  if (!job) return failure(job.error());
  if (auto slept = pause_for(kSettle); !slept) return failure(std::move(slept.error()));
  const Result<double> peak = peak_resident_bytes(job->launcher().pid());
  if (!peak) return failure(peak.error());
  return mebibytes(*peak);
}

Result<Rows> unread_rows(const Bench& bench, const LogsOptions& options) {
  constexpr Bar kMemoryBar{Bar::Kind::at_most, 16};
  const auto both = measure_both<double>(
      bench, [&](const Launcher& launcher) { return measure_unread(bench, launcher, options); });
  if (!both) return failure(both.error());
  Row memory =
      row(fmt::format("most resident memory, {} workers write, console not read", options.workers),
          Unit::mebibytes,
          both->rankrun,
          kMemoryBar);
  return Rows{beside_torchrun(std::move(memory), "", both->torchrun)};
}

}  // namespace

Report run_logs_bench(const LogsOptions& options) {
  std::vector<Part> parts;
  for (const ConsoleKind kind : {ConsoleKind::pipe, ConsoleKind::terminal}) {
    parts.push_back({fmt::format("lines through {}", name_of(kind)), [&, kind](const Bench& bench) {
                       return transfer_rows(bench, options, kind);
                     }});
    parts.push_back({fmt::format("latency through {}", name_of(kind)),
                     [&, kind](const Bench& bench) { return latency_rows(bench, options, kind); }});
  }
  parts.push_back({"a console that is not read",
                   [&](const Bench& bench) { return unread_rows(bench, options); }});
  return run_parts("logs", options, parts);
}

}  // namespace rankrun::bench
