// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/options.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace rankrun::bench {
namespace {

LaunchOptions options_of(std::vector<std::string> arguments, Environment environment = {}) {
  auto invocation = parse_invocation(std::move(arguments), std::move(environment));
  if (!invocation) FAIL(invocation.error().message());
  return std::get<LaunchOptions>(*invocation);
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

TEST_CASE("bad usage is refused", "[bench][options]") {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {}, {"nope"}, {"launch", "--runs=0"}, {"launch", "x"}}) {
    CHECK_FALSE(parse_invocation(arguments, {}));
  }
  CHECK(std::holds_alternative<PrintText>(*parse_invocation({"--help"}, {})));
}

}  // namespace
}  // namespace rankrun::bench
