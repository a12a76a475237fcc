// SPDX-License-Identifier: Apache-2.0
// Workers that the kernel kills for lack of memory.
#include "agent/containment.h"
#include "tests/support/rankrun_case.h"
#include "tests/support/silent_log.h"

#include <cstdio>
#include <string>

namespace rankrun::tests {
namespace {

constexpr auto kHungry = "tail /dev/zero";  // keeps an endless line in memory

bool can_limit() {
  auto containment =
      agent::Containment::create(agent::CgroupUse::automatic, true, tests::silent_log());
  const auto ties = containment->tie(1 << 20);
  if (!ties) std::printf("SKIPPED: %s\n", ties.error().message().c_str());
  containment->close_attempt();
  return ties.has_value();
}

TEST_CASE("a worker that the kernel kills for lack of memory is reported as that", "[memory]") {
  if (!can_limit()) return;
  RankrunCase test;
  test.write_program("worker", std::string("[ $RANK = 1 ] && exec ") + kHungry + "\nsleep 1000");
  const RunResult result = test.run(
      {"--nproc-per-node=2", "--memory-max=48M", "--report=report", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(137));
  CHECK_THAT(
      result.err,
      Catch::Contains("rank 1 ") &&
          Catch::Contains("out of memory, killed by the kernel: limit 48.0 MiB, peak 48.0") &&
          Catch::Contains("hint: give it more memory"));
  CHECK_THAT(test.read("report"),
             Catch::Contains("\"ended_worker\": true") && Catch::Contains("\"limit\": 50331648"));
}

TEST_CASE("a worker whose child the kernel killed for lack of memory is told why", "[memory]") {
  if (!can_limit()) return;
  RankrunCase test;
  test.write_program("worker", std::string(kHungry) + " &\nwait $! || exit 5");
  const RunResult result = test.run({"--memory-max=48M", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(5));
  CHECK_THAT(result.err,
             !Catch::Contains("out of memory, killed by the kernel") &&
                 Catch::Contains("hint: meanwhile the kernel killed a process here"));
}

TEST_CASE("SIGKILL from elsewhere is not called a lack of memory", "[memory]") {
  RankrunCase test;
  test.write_program("worker", "kill -9 $$");
  const RunResult result = test.run({"--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(137));
  CHECK_THAT(result.err, !Catch::Contains("out of memory"));
}

TEST_CASE("a worker within its limit works", "[memory]") {
  if (!can_limit()) return;
  RankrunCase test;
  test.write_program("worker", "head -c 8M /dev/zero | tail > /dev/null");
  CHECK_THAT(test.run({"--memory-max=48M", "--no-python", "./worker"}), ExitsWith(0));
}

}  // namespace
}  // namespace rankrun::tests
