// SPDX-License-Identifier: Apache-2.0
// How a failed job ends: exit code and final report (torchrun.md 3.9).
#include "tests/support/rankrun_case.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace rankrun::tests {

using Catch::Contains;

TEST_CASE("the exit code is the failing worker's", "[e2e][failure]") {
  RankrunCase rankrun;
  const auto [body, code] = GENERATE(table<std::string, int>({{"exit 0", 0},
                                                              {"exit 7", 7},
                                                              {"exit 255", 255},
                                                              {"kill -KILL $$", 128 + SIGKILL},
                                                              {"kill -TERM $$", 128 + SIGTERM},
                                                              {"kill -ABRT $$", 128 + SIGABRT}}));
  INFO(body);
  rankrun.write_worker(body);
  CHECK_THAT(rankrun.run({"--no-python", "./worker"}), ExitsWith(code));
}

TEST_CASE("the first failing worker decides, not the ones it takes with it", "[e2e][failure]") {
  RankrunCase rankrun;
  rankrun.write_worker(R"(
if [ "$RANK" = 1 ]; then
  until [ -e ready ]; do sleep 0.02; done
  exit 3
fi
trap 'exit 4' TERM
touch ready
sleep 1000 & wait)");
  const RunResult result = rankrun.run({"--nproc-per-node=2", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(3));
  CHECK_THAT(result.err, Contains("rank      : 1 (local_rank: 1)\n"));
  CHECK_THAT(result.err, Contains("exitcode  : 3 (pid: "));
}

TEST_CASE("workers that ended well do not end those that still run", "[e2e][failure]") {
  RankrunCase rankrun;
  rankrun.write_worker(R"(
if [ "$RANK" = 1 ]; then echo "$$" >first; exit 0; fi
until [ -e first ] && ! grep -qs '^State:.[^Z]' "/proc/$(cat first)/status"; do sleep 0.02; done
touch finished)");
  CHECK_THAT(rankrun.run({"--nproc-per-node=2", "--no-python", "./worker"}), ExitsWith(0));
  CHECK(rankrun.exists("finished"));
}

TEST_CASE("the report names the failed rank, its host, pid, signal and last words",
          "[e2e][failure]") {
  RankrunCase rankrun;
  rankrun.write_worker(R"(
if [ "$RANK" = 0 ]; then echo idle >&2; exec sleep 1000; fi
echo "$$" >pid
echo "loss is NaN" >&2
echo "giving up" >&2
kill -KILL $$)");
  const RunResult result = rankrun.run({"--nproc-per-node=2", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(128 + SIGKILL));
  const std::string pid = lines_of(rankrun.read("pid")).at(0);
  std::array<char, 256> host{};
  REQUIRE(::gethostname(host.data(), host.size() - 1) == 0);

  const std::string report = result.err.substr(std::min(result.err.find("==="), result.err.size()));
  CHECK_THAT(report, Contains("\n./worker FAILED\n"));
  CHECK_THAT(report, Contains("\n  host      : " + std::string(host.data()) + "\n"));
  CHECK_THAT(report, Contains("\n  rank      : 1 (local_rank: 1)\n"));
  CHECK_THAT(report, Contains("\n  exitcode  : -9 (pid: " + pid + ")  (SIGKILL)\n"));
  CHECK_THAT(report, Contains("Signal 9 (SIGKILL) received by PID " + pid + "\n"));
  CHECK_THAT(report, Contains("\n    loss is NaN\n    giving up\n---"));
  CHECK_THAT(report, Contains("\nstopped by rankrun (SIGTERM): rank 0\n"));
  CHECK_THAT(report, Contains("\nhint: SIGKILL did not come from rankrun"));
  CHECK_THAT(report, !Contains("idle"));
}

TEST_CASE("a script without torch is told which interpreter was used", "[e2e][failure]") {
  RankrunCase rankrun;
  const std::string python = rankrun.write_program(
      "python3", R"(echo "ModuleNotFoundError: No module named 'torch'" >&2; exit 1)");
  rankrun.set("PYTHON_EXEC", python);
  rankrun.write("train.py", "");
  const RunResult result = rankrun.run({"train.py"});
  CHECK_THAT(result, ExitsWith(1));
  CHECK_THAT(result.err, Contains(python) && Contains("set PYTHON_EXEC"));
}

}  // namespace rankrun::tests
