// SPDX-License-Identifier: Apache-2.0
// --max-restarts: the whole group again, never two attempts at once.
#include "tests/support/rankrun_case.h"

#include <chrono>
#include <csignal>

namespace rankrun::tests {

using Catch::Contains;

namespace {

// Each rank holds a lock as long as anything of it lives; an attempt that finds it taken overlaps
// with the one before.
constexpr auto kNoteAttempt = R"(
exec 9>"lock.$RANK"
flock -n 9 || touch overlap
echo "$TORCHELASTIC_RESTART_COUNT" >>"attempts.$RANK"
)";

}  // namespace

TEST_CASE("a killed worker has all workers started again, after the old ones are gone",
          "[e2e][restart]") {
  RankrunCase rankrun;
  rankrun.write_worker(std::string(kNoteAttempt) + R"(
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
if [ "$RANK" = 1 ]; then
  until [ -e ready ]; do sleep 0.02; done
  kill -KILL $$
fi
(trap '' TERM; touch ready; exec sleep 1000) &  # only SIGKILL ends this one
wait)");
  const RunResult result =
      rankrun.run({"--nproc-per-node=2", "--max-restarts=1", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(rankrun.read("attempts.0") == "0\n1\n");
  CHECK(rankrun.read("attempts.1") == "0\n1\n");
  CHECK_FALSE(rankrun.exists("overlap"));
  CHECK(rankrun.worker_ports().size() == 4);
  CHECK_THAT(result.err, Contains("rank 1 (local rank 1, pid ") && Contains("killed by SIGKILL"));
  CHECK_THAT(result.err, Contains("restart 1 of 1"));
  CHECK_THAT(result.err, !Contains("FAILED"));  // the job did not
}

TEST_CASE("restarts stop when the budget is used up", "[e2e][restart]") {
  RankrunCase rankrun;
  rankrun.write_worker(std::string(kNoteAttempt) + R"(
[ "$RANK" = 0 ] && exec sleep 1000
echo "attempt $TORCHELASTIC_RESTART_COUNT fails" >&2
kill -KILL $$)");
  const RunResult result =
      rankrun.run({"--nproc-per-node=2", "--max-restarts=2", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(128 + SIGKILL));
  CHECK(rankrun.read("attempts.1") == "0\n1\n2\n");
  CHECK_FALSE(rankrun.exists("overlap"));
  // The report is about the last attempt alone.
  const std::size_t report = result.err.find("Root Cause");
  REQUIRE(report != std::string::npos);
  CHECK_THAT(result.err.substr(report), Contains("attempt 2 fails"));
  CHECK_THAT(result.err.substr(report), !Contains("attempt 1 fails"));
}

TEST_CASE("workers that ignore SIGTERM are killed before the next attempt", "[e2e][restart]") {
  RankrunCase rankrun;
  rankrun.write_worker(std::string(kNoteAttempt) + R"(
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
if [ "$RANK" = 1 ]; then
  until [ -e ready ]; do sleep 0.02; done
  exit 5
fi
trap '' TERM
touch ready
exec sleep 1000)");
  CHECK_THAT(rankrun.run({"--nproc-per-node=2",
                          "--max-restarts=1",
                          "--shutdown-timeout=1",
                          "--no-python",
                          "./worker"}),
             ExitsWith(0));
  CHECK(rankrun.read("attempts.0") == "0\n1\n");
  CHECK_FALSE(rankrun.exists("overlap"));
}

TEST_CASE("restarts wait for their delay, twice as long after each short attempt",
          "[e2e][restart]") {
  RankrunCase rankrun;
  rankrun.write_worker("exit 5");
  const RunResult result =
      rankrun.run({"--max-restarts=3", "--restart-delay=0.1", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(5));
  CHECK(result.wall >= std::chrono::milliseconds(700));
  CHECK_THAT(result.err,
             Contains("restart in 0.1 s\n") && Contains("restart in 0.2 s\n") &&
                 Contains("restart in 0.4 s\n"));
}

TEST_CASE("a stop signal ends the wait for a restart at once", "[e2e][restart]") {
  RankrunCase rankrun;
  rankrun.write_worker("exit 5");
  rankrun.start({"--max-restarts=3", "--restart-delay=1000", "--no-python", "./worker"});
  rankrun.wait_for_error_text("restart in 1000.0 s");
  rankrun.signal(SIGTERM);
  CHECK_THAT(rankrun.wait(), ExitsWith(128 + SIGTERM));
}

TEST_CASE("the same failure over and over stops the job early", "[e2e][restart]") {
  RankrunCase rankrun;
  rankrun.write_worker("exit 5");
  const RunResult result = rankrun.run(
      {"--max-restarts=9", "--max-same-failure=3", "--report=report", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(5));
  CHECK(rankrun.worker_ports().size() == 3);
  CHECK_THAT(result.err, Contains("restarts left: 7\n") && Contains("(--max-same-failure)"));
  CHECK_THAT(rankrun.read("report"), Contains("ended 3 attempts in a row"));
}

TEST_CASE("different failures use all restarts", "[e2e][restart]") {
  RankrunCase rankrun;
  rankrun.write_worker("exit $((5 + TORCHELASTIC_RESTART_COUNT % 2))");
  const RunResult result =
      rankrun.run({"--max-restarts=4", "--max-same-failure=2", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(5));
  CHECK(rankrun.worker_ports().size() == 5);
  CHECK_THAT(result.err, !Contains("--max-same-failure"));
}

}  // namespace rankrun::tests
