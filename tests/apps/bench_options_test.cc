// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/options.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace rankrun::bench {
namespace {

template <typename Options = LaunchOptions>
Options options_of(std::vector<std::string> arguments, Environment environment = {}) {
  auto invocation = parse_invocation(std::move(arguments), std::move(environment));
  if (!invocation) FAIL(invocation.error().message());
  return std::get<Options>(*invocation);
}

TEST_CASE("launch has defaults for everything", "[bench][options]") {
  const LaunchOptions options = options_of({"launch"}, {"HOME=/h", "PET_NNODES=7"});
  CHECK(options.runs == 50);
  CHECK(options.restarts == 100);
  CHECK(options.idle_seconds == 10);
  CHECK_THAT(options.default_torchrun, Catch::StartsWith("/h/.cache/rankrun/torch-"));
  CHECK(options.environment == Environment{"HOME=/h"});  // PET_* would change what is measured
  CHECK_THAT(options_of({"launch"}, {"XDG_CACHE_HOME=/c", "HOME=/h"}).default_torchrun,
             Catch::StartsWith("/c/rankrun/torch-"));
}

TEST_CASE("launch takes its options", "[bench][options]") {
  const LaunchOptions options =
      options_of({"launch", "--runs=3", "--restarts", "4", "--rankrun=/r", "--json", "-"});
  CHECK(options.runs == 3);
  CHECK(options.restarts == 4);
  CHECK(options.rankrun == "/r");
  CHECK(options.json == "-");
}

TEST_CASE("logs has defaults and takes its options", "[bench][options]") {
  const auto defaults = options_of<LogsOptions>({"logs"}, {"HOME=/h", "PET_TEE=3"});
  CHECK(defaults.workers == 4);
  CHECK(defaults.lines == 250'000);
  CHECK(defaults.environment == Environment{"HOME=/h"});
  const auto options = options_of<LogsOptions>(
      {"logs", "--workers=2", "--lines=9", "--seed=18446744073709551615", "--torchrun=/t"});
  CHECK(options.workers == 2);
  CHECK(options.lines == 9);
  CHECK(options.seed == 18446744073709551615U);
  CHECK(options.torchrun == "/t");
}

TEST_CASE("a log worker learns its rank from the environment", "[bench][options]") {
  const auto options = options_of<LogWorkerOptions>({"log-worker", "--lines=5"}, {"RANK=12"});
  CHECK(options.rank == 12);
  CHECK(options.lines == 5);
  for (const Environment& environment : std::vector<Environment>{{}, {"RANK="}, {"RANK=-1"}}) {
    CHECK_FALSE(parse_invocation({"log-worker"}, environment));
  }
}

TEST_CASE("orphans has defaults and takes its options", "[bench][options]") {
  const auto defaults = options_of<OrphansOptions>({"orphans"});
  CHECK(defaults.hunts == 1000);
  CHECK(defaults.torchrun_hunts == 50);
  const auto options =
      options_of<OrphansOptions>({"orphans", "--hunts=7", "--torchrun-hunts=0", "--seed=9"});
  CHECK(options.hunts == 7);
  CHECK(options.torchrun_hunts == 0);
  CHECK(options.seed == 9);
}

TEST_CASE("every kind of tree has a name that it is started by", "[bench][options]") {
  for (const TreeKind kind : tree_kinds()) {
    INFO(name(kind));
    const auto options = options_of<OrphanTreeOptions>(
        {"orphan-tree", "--kind=" + std::string(name(kind)), "--fifo=/f"});
    CHECK(options.kind == kind);
    CHECK(options.fifo == "/f");
  }
  CHECK_FALSE(parse_invocation({"orphan-tree", "--kind=none", "--fifo=/f"}, {}));
  CHECK_FALSE(parse_invocation({"orphan-tree", "--kind=shell"}, {}));
}

TEST_CASE("store has defaults and takes its options", "[bench][options]") {
  const auto defaults = options_of<StoreOptions>({"store"}, {"HOME=/h"});
  CHECK(defaults.rounds == 5);
  CHECK(defaults.milliseconds == 1000);
  CHECK(defaults.scale == 100);
  CHECK_THAT(defaults.default_torchrun, Catch::StartsWith("/h/.cache/rankrun/torch-"));
  const auto options =
      options_of<StoreOptions>({"store", "--rounds=1", "--milliseconds=20", "--scale=3"});
  CHECK(options.rounds == 1);
  CHECK(options.milliseconds == 20);
  CHECK(options.scale == 3);
  CHECK_FALSE(parse_invocation({"store", "--scale=101"}, {}));
}

TEST_CASE("a store server is ours or the floor", "[bench][options]") {
  CHECK_FALSE(options_of<StoreServerOptions>({"store-server"}).floor);
  CHECK(options_of<StoreServerOptions>({"store-server", "--floor"}).floor);
}

TEST_CASE("bad usage is refused", "[bench][options]") {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {}, {"nope"}, {"launch", "--runs=0"}, {"launch", "x"}, {"logs", "--lines=0"}}) {
    CHECK_FALSE(parse_invocation(arguments, {}));
  }
  CHECK(std::holds_alternative<PrintText>(*parse_invocation({"--help"}, {})));
}

}  // namespace
}  // namespace rankrun::bench
