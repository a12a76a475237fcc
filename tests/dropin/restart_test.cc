// SPDX-License-Identifier: Apache-2.0
// --max-restarts, and what an attempt finds of the one before (torchrun.md 4.1).
#include "tests/dropin/drop_in.h"
#include "tests/store/client.h"

#include <csignal>

namespace rankrun::tests {

using namespace std::literals;
using store::test::Client;

namespace {

// Workers' bodies begin with it: the attempts of each rank.
constexpr auto kNoteAttempt = R"(
echo "$TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS" >>"attempts.$RANK"
)";

// Rank 1 fails in the first attempt as soon as rank 0, which ignores SIGTERM, is ready.
constexpr auto kDeafSurvivor = R"(
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
if [ "$RANK" = 1 ]; then
  until [ -e ready ]; do sleep 0.02; done
  exit 5
fi
trap '' TERM
touch ready
exec sleep 1000)";

// The value of a counter in the workers' store, after one more.
std::string count_in_store(std::uint16_t port) {
  Client client(port);
  client.greet();
  client.send("\x04\x02\0\0\0\0\0\0\0/n\x01\0\0\0\0\0\0\0"sv);  // ADD "/n" 1
  return client.receive(8);
}

}  // namespace

RANKRUN_DROP_IN_CASE("a failure starts all workers again, and the job can still end well") {
  const RunResult result = job.run_worker(std::string(kNoteAttempt) +
                                              R"([ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
[ "$RANK" = 0 ] && exec sleep 1000
until [ -s attempts.0 ]; do sleep 0.02; done
kill -KILL $$)",
                                          {"--nproc-per-node=2", "--max-restarts=1"});
  job.expect_exit(result, 0);
  job.expect_equal("attempts of rank 0", job.read("attempts.0"), "0 of 1\n1 of 1\n");
  job.expect_equal("attempts of rank 1", job.read("attempts.1"), "0 of 1\n1 of 1\n");
}

RANKRUN_DROP_IN_CASE("restarts stop when the budget is used up") {
  job.torchrun_differs("always exits with 1", {"exit code"});
  const RunResult result =
      job.run_worker(std::string(kNoteAttempt) + "exit 9", {"--max-restarts=2"});
  job.expect_exit(result, 9);
  job.expect_equal("attempts", job.read("attempts.0"), "0 of 2\n1 of 2\n2 of 2\n");
  job.expect_contains("the report", result.err, "exitcode  : 9 (pid: ");
}

RANKRUN_DROP_IN_CASE("an attempt finds nothing of the one before in the store") {
  job.torchrun_differs("uses the store of the first attempt again", {"a fresh counter"});
  job.start_worker(R"(touch "ready.$TORCHELASTIC_RESTART_COUNT"
until [ -e "go.$TORCHELASTIC_RESTART_COUNT" ]; do sleep 0.02; done
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ])",
                   {"--max-restarts=1"});
  const std::string one = "\x01\0\0\0\0\0\0\0"s;
  if (!job.expect_file("ready.0")) return;
  job.expect(count_in_store(job.worker_ports().at(0)) == one, "a counter of the first attempt");
  job.write("go.0", "");
  if (!job.expect_file("ready.1")) return;
  job.expect(count_in_store(job.worker_ports().at(1)) == one, "a fresh counter");
  job.write("go.1", "");
  job.expect_exit(job.wait(), 0);
}

RANKRUN_DROP_IN_CASE("a worker's child that ignores SIGTERM does not live into the next attempt") {
  job.torchrun_differs("it lives on", {"it is gone"});
  const RunResult result = job.run_worker(
      R"(if [ "$TORCHELASTIC_RESTART_COUNT" = 1 ]; then
  [ -e "/proc/$(cat pid)/exe" ] && echo alive
  exit 0
fi
(trap '' TERM; touch ready; exec sleep 1000) & echo $! >pid
until [ -e ready ]; do sleep 0.02; done
exit 1)",
      {"--max-restarts=1"});
  job.expect_exit(result, 0);
  job.expect_equal("it is gone", result.out, "");
}

RANKRUN_DROP_IN_CASE("the shutdown timeout holds for the stop before a restart") {
  job.torchrun_differs("waits for 30 s", {"the job ends within 10 s", "exit code"});
  job.start_worker(kDeafSurvivor,
                   {"--nproc-per-node=2", "--max-restarts=1", "--shutdown-timeout=1"});
  if (!job.expect_file("ready")) return;
  const RunResult result =
      job.expect_end_within(std::chrono::seconds(10), "the job ends within 10 s");
  job.expect_exit(result, 0);
}

RANKRUN_DROP_IN_CASE("the shutdown timeout holds for the stop after the last failure") {
  job.torchrun_differs("waits for 30 s", {"the job ends within 10 s", "exit code"});
  job.set("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "1");
  job.start_worker(kDeafSurvivor, {"--nproc-per-node=2"});
  if (!job.expect_file("ready")) return;
  const RunResult result =
      job.expect_end_within(std::chrono::seconds(10), "the job ends within 10 s");
  job.expect_exit(result, 5);
}

}  // namespace rankrun::tests
