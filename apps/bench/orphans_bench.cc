// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/orphans_bench.h"

#include "apps/bench/orphan_hunt.h"
#include "apps/bench/sleeping_job.h"
#include "apps/bench/statistics.h"
#include "apps/bench/wait.h"

#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

namespace rankrun::bench {

using base::Duration;
using base::failure;
using base::Result;
namespace fs = std::filesystem;

namespace {

// Long enough to hit all of a launch, short enough to hit its first milliseconds often.
constexpr Duration kOurLaunch = std::chrono::milliseconds(12);
constexpr Duration kTorchrunLaunch = std::chrono::seconds(4);

// Holds what forks without end: a cgroup that limits the number of processes.
class ProcessLimit {
 public:
  ProcessLimit() {
    constexpr auto kMost = "300";
    for (const char* hierarchy : {"/sys/fs/cgroup/pids", "/sys/fs/cgroup"}) {
      path_ = fs::path(hierarchy) / fmt::format("rankbench-{}", ::getpid());
      if (::mkdir(path_.c_str(), 0755) != 0) continue;
      std::ofstream limit(path_ / "pids.max");
      if (limit << kMost << std::flush) return;
      ::rmdir(path_.c_str());
    }
    path_.clear();
  }
  ~ProcessLimit() {
    constexpr int kRounds = 100;  // what was killed needs a moment
    for (int i = 0; i < kRounds && !path_.empty() && ::rmdir(path_.c_str()) != 0; ++i) {
      ::usleep(10'000);
    }
  }
  ProcessLimit(const ProcessLimit&) = delete;
  ProcessLimit& operator=(const ProcessLimit&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct Campaign {
  std::string name;
  const Launcher& launcher;
  int hunts;
  std::vector<std::string> flags;
  Duration launch;   // hunts end within this
  bool has_endless;  // trees that fork without end, too
};

// What a campaign came to.
struct Catch {
  Samples times;                       // until all was gone, of hunts without survivors
  std::vector<std::string> survivors;  // a line for each hunt with some
};

Result<Catch> run_hunts(const Bench& bench, const Campaign& campaign, std::uint64_t seed) {
  const ProcessLimit limit;
  if (campaign.has_endless && limit.path().empty()) {
    std::fputs("rankbench: no hunts for what forks without end: processes cannot be limited here\n",
               stderr);
  }
  std::mt19937_64 random(seed);
  std::vector<Quarry> all;
  Catch result;
  for (int i = 0; i < campaign.hunts; ++i) {
    Hunt next;
    const bool may_be_endless = campaign.has_endless && !limit.path().empty();
    const std::size_t kinds = tree_kinds().size() - (may_be_endless ? 0 : 1);
    next.kind = tree_kinds()[random() % kinds];
    next.kills_worker = random() % 2 == 0;
    next.after = Duration(
        static_cast<Duration::rep>(random() % static_cast<std::uint64_t>(campaign.launch.count())));
    next.flags = campaign.flags;
    if (next.kind == TreeKind::endless) next.limits = limit.path();
    auto hunted = hunt(bench, campaign.launcher, next, fmt::format("{}-{}", campaign.name, i));
    if (!hunted) return failure(hunted.error().within(next.describe()));
    if (hunted->survivors > 0) {
      result.survivors.push_back(
          fmt::format("hunt {} ({}): {} processes", i, next.describe(), hunted->survivors));
    } else {
      result.times.push_back(hunted->took);
    }
    all.push_back(std::move(hunted->quarry));
  }
  // Whether something showed up late.
  for (const Quarry& quarry : all) {
    if (quarry.is_gone()) continue;
    result.survivors.emplace_back("one that showed up late");
    quarry.kill_survivors();
  }
  return result;
}

Rows rows_of(const Catch& result, const std::string& how, int hunts, bool has_bar) {
  constexpr Bar kNone{Bar::Kind::at_most, 0};
  Rows rows = {row(fmt::format("hunts with survivors, of {}, {}", hunts, how),
                   Unit::count,
                   static_cast<double>(result.survivors.size()),
                   has_bar ? std::optional(kNone) : std::nullopt)};
  if (result.times.empty()) return rows;
  for (const auto& [which, percent] : {std::pair("p50", 50U), {"p99", 99U}, {"max", 100U}}) {
    rows.push_back(row(fmt::format("victim's death to nothing left, {}, {}", which, how),
                       Unit::milliseconds,
                       milliseconds(percentile(result.times, percent))));
  }
  return rows;
}

Result<Rows> our_rows(const Bench& bench, const OrphansOptions& options, const std::string& mode) {
  const Campaign campaign{.name = mode,
                          .launcher = bench.launchers.rankrun,
                          .hunts = options.hunts,
                          .flags = {"--cgroup=" + mode},
                          .launch = kOurLaunch,
                          .has_endless = mode == "required"};
  const Result<Catch> result = run_hunts(bench, campaign, options.seed);
  if (!result) return failure(result.error());
  if (!result->survivors.empty()) {
    return failure({},
                   fmt::format("{} of {} hunts left something behind (--seed={}): {}",
                               result->survivors.size(),
                               options.hunts,
                               options.seed,
                               fmt::join(result->survivors, "; ")));
  }
  return rows_of(*result, "--cgroup=" + mode, options.hunts, true);
}

bool may_make_cgroups(const Bench& bench) {
  const auto command = bench.place.command(
      {bench.launchers.rankrun.path, "--cgroup=required", "--no-python", "/bin/true"});
  return run_together({command}, std::chrono::seconds(10)).has_value();
}

Result<Rows> cgroup_rows(const Bench& bench, const OrphansOptions& options) {
  if (may_make_cgroups(bench)) return our_rows(bench, options, "required");
  std::fputs("rankbench: no hunts with cgroups: they cannot be made here\n", stderr);
  return Rows{};
}

Result<Rows> torchrun_rows(const Bench& bench, const OrphansOptions& options) {
  if (!bench.launchers.torchrun || options.torchrun_hunts == 0) return Rows{};
  const Campaign campaign{.name = "torchrun",
                          .launcher = *bench.launchers.torchrun,
                          .hunts = options.torchrun_hunts,
                          .flags = {},
                          .launch = kTorchrunLaunch,
                          .has_endless = false};
  const Result<Catch> result = run_hunts(bench, campaign, options.seed);
  if (!result) return failure(result.error());
  return rows_of(*result, "torchrun", options.torchrun_hunts, false);
}

// The keeper ------------------------------------------------------------------------------------

Result<pid_t> keeper_of(pid_t launcher) {
  for (const pid_t child : children_of(launcher)) {
    if (name_of(child) == "keeper") return child;
  }
  return failure({}, "rankrun has no keeper");
}

Result<Rows> keeper_rows(const Bench& bench) {
  constexpr Bar kResident{Bar::Kind::at_most, 2};
  constexpr Bar kPrivate{Bar::Kind::at_most, 0.3};
  constexpr Bar kNoSwitches{Bar::Kind::at_most, 0};
  constexpr int kSeconds = 5;
  const auto job =
      SleepingJob::start(bench.launchers.rankrun, bench.place, {.workers = 2, .max_restarts = 0});
  if (!job) return failure(job.error());
  const auto keeper = keeper_of(job->launcher_pid());
  if (!keeper) return failure(keeper.error());
  if (auto slept = pause_for(std::chrono::seconds(1)); !slept) return failure(slept.error());
  const auto before = voluntary_switches(*keeper);
  if (auto slept = pause_for(std::chrono::seconds(kSeconds)); !slept) return failure(slept.error());
  const auto after = voluntary_switches(*keeper);
  const auto resident = resident_bytes(*keeper);
  const auto own = private_bytes(*keeper);
  if (!before) return failure(before.error());
  if (!after) return failure(after.error());
  if (!resident) return failure(resident.error());
  if (!own) return failure(own.error());
  return Rows{row("keeper, resident memory", Unit::mebibytes, mebibytes(*resident), kResident),
              row("keeper, private memory", Unit::mebibytes, mebibytes(*own), kPrivate),
              row(fmt::format("keeper, voluntary switches in {} s", kSeconds),
                  Unit::count,
                  static_cast<double>(*after - *before),
                  kNoSwitches)};
}

}  // namespace

Report run_orphans_bench(const OrphansOptions& options) {
  const std::vector<Part> parts = {
      {"hunts without cgroups",
       [&](const Bench& bench) { return our_rows(bench, options, "off"); }},
      {"hunts with cgroups", [&](const Bench& bench) { return cgroup_rows(bench, options); }},
      {"torchrun's hunts", [&](const Bench& bench) { return torchrun_rows(bench, options); }},
      {"the keeper", keeper_rows}};
  return run_parts("orphans", options, parts);
}

}  // namespace rankrun::bench
