// SPDX-License-Identifier: Apache-2.0
// TORCHELASTIC_ENABLE_FILE_TIMER: workers set timers, and what outlives its timer is ended.
#include "tests/support/pseudo_terminal.h"
#include "tests/support/rankrun_case.h"

#include <sys/stat.h>

#include <csignal>

namespace rankrun::tests {

using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// set PID SCOPE UNIX_SECONDS SIGNAL: as PyTorch's client writes it.
constexpr auto kSet = R"(
set_timer() {
  printf '{"version": 1, "pid": %d, "scope_id": "%s", "expiration_time": %s, "signal": %d}\n' \
    "$@" >"$TORCHELASTIC_TIMER_FILE"
}
)";

void write_worker(const RankrunCase& rankrun, const std::string& body) {
  rankrun.write_worker(kSet + body);
}

}  // namespace

TEST_CASE("a worker whose timer expires is killed, and all start again", "[e2e][watchdog]") {
  RankrunCase rankrun;
  rankrun.set("TORCHELASTIC_ENABLE_FILE_TIMER", "1");
  write_worker(rankrun, R"(
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
[ "$RANK" = 1 ] && set_timer $$ epoch 1.5 9
exec sleep 1000)");
  const RunResult result =
      rankrun.run({"--nproc-per-node=2", "--max-restarts=1", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK_THAT(result.err, Contains("timer 'epoch' of rank 1 (pid ") && Contains("sent SIGKILL"));
  CHECK_THAT(result.err, Contains("killed by SIGKILL: timer 'epoch' of pid "));
  CHECK_THAT(result.err, Contains("restart 1 of 1"));
}

TEST_CASE("the report of a failure names the timer, and looks for no other killer",
          "[e2e][watchdog]") {
  RankrunCase rankrun;
  rankrun.set("TORCHELASTIC_ENABLE_FILE_TIMER", "1");
  write_worker(rankrun, R"(
echo "step 41" >&2
set_timer $$ "a\u001b[2Jb" 0 9
exec sleep 1000)");
  const RunResult result = rankrun.run({"--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(128 + SIGKILL));
  CHECK_THAT(result.err, Contains("message   : timer 'a\\x1b[2Jb' of pid "));
  CHECK_THAT(result.err, !Contains("dmesg"));
}

TEST_CASE("a timer that is taken back in time ends nobody", "[e2e][watchdog]") {
  RankrunCase rankrun;
  rankrun.set("TORCHELASTIC_ENABLE_FILE_TIMER", "1");
  write_worker(rankrun, R"(
trap 'exit 0' USR1
now=$(date +%s)
set_timer $$ first $((now + 1)) 9
set_timer $$ first -1 0
set_timer $$ second $((now + 2)) 10
while :; do sleep 0.02; done)");
  const RunResult result = rankrun.run({"--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK_THAT(result.err, Contains("timer 'second'") && Contains("sent SIGUSR1"));
  CHECK_THAT(result.err, !Contains("first"));
}

TEST_CASE("a timer whose signal a worker survives is not the cause of its end", "[e2e][watchdog]") {
  RankrunCase rankrun;
  rankrun.set("TORCHELASTIC_ENABLE_FILE_TIMER", "1");
  write_worker(rankrun, R"(
trap 'echo "loss is NaN" >&2; exit 5' USR1
set_timer $$ dump 0 10
while :; do sleep 0.02; done)");
  const RunResult result = rankrun.run({"--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(5));
  CHECK_THAT(result.err, Contains("timer 'dump' of rank 0") && Contains("sent SIGUSR1"));
  CHECK_THAT(result.err, Contains("message   : loss is NaN"));
}

TEST_CASE("a child of a worker has timers, too, and the worker's end is its own",
          "[e2e][watchdog]") {
  RankrunCase rankrun;
  rankrun.set("TORCHELASTIC_ENABLE_FILE_TIMER", "1");
  write_worker(rankrun, R"(
sleep 1000 &
set_timer $! load 0 15
wait $!
exit 7)");
  const RunResult result = rankrun.run({"--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(7));
  CHECK_THAT(result.err, Contains("timer 'load' of rank 0 (pid ") && Contains("sent SIGTERM"));
  CHECK_THAT(result.err, Contains("exited with 7: timer 'load' of pid "));
}

TEST_CASE("a worker with the terminal has timers, too", "[e2e][watchdog]") {
  RankrunCase rankrun;
  const PseudoTerminal terminal;
  rankrun.set("TORCHELASTIC_ENABLE_FILE_TIMER", "1");
  write_worker(rankrun, "set_timer $$ prompt 0 9; exec sleep 1000");
  rankrun.before_exec([&terminal] { terminal.take_session(false); });
  const RunResult result = rankrun.run({"--stdin-rank=0", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(128 + SIGKILL));
  CHECK_THAT(result.err, Contains("timer 'prompt' of rank 0"));
}

TEST_CASE("nonsense in the timer file ends nobody and is told once", "[e2e][watchdog]") {
  RankrunCase rankrun;
  rankrun.set("TORCHELASTIC_ENABLE_FILE_TIMER", "1");
  write_worker(rankrun, R"(
set_timer $PPID launcher 0 9
set_timer 1 init 0 9
set_timer $$ signal 0 99
for i in 1 2 3; do
  echo 'no JSON' >"$TORCHELASTIC_TIMER_FILE"
  head -c 100000 /dev/zero >"$TORCHELASTIC_TIMER_FILE"
  printf '\n{"version": 1' >"$TORCHELASTIC_TIMER_FILE"
  echo >"$TORCHELASTIC_TIMER_FILE"
done
trap 'exit 0' USR1
set_timer $$ last 0 10
while :; do sleep 0.02; done)");
  const RunResult result = rankrun.run({"--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(0));
  std::size_t warnings = 0;
  for (const std::string& line : lines_of(result.err)) {
    if (line.find("sets no timer") != std::string::npos) ++warnings;
  }
  CHECK(warnings == 4);
  CHECK_THAT(result.err, !Contains("expired: sent SIGKILL"));
}

TEST_CASE("the timer file is private, and gone after a stop", "[e2e][watchdog]") {
  RankrunCase rankrun;
  const std::string path = rankrun.folder() / "timers";
  rankrun.write("timers", "of an earlier job");
  rankrun.set("TORCHELASTIC_ENABLE_FILE_TIMER", "1");
  rankrun.set("TORCHELASTIC_TIMER_FILE", path);
  rankrun.write_worker(
      "echo \"$TORCHELASTIC_TIMER_FILE\" >told.tmp; mv told.tmp told; "
      "exec sleep 1000");
  rankrun.start({"--no-python", "./worker"});
  rankrun.wait_for_file("told");
  struct stat file {};
  REQUIRE(::lstat(path.c_str(), &file) == 0);
  CHECK(S_ISFIFO(file.st_mode));
  CHECK((file.st_mode & 0777) == 0600);
  CHECK(rankrun.read("told") == path + "\n");
  rankrun.signal(SIGTERM);
  CHECK_THAT(rankrun.wait(), ExitsWith(128 + SIGTERM));
  CHECK_FALSE(rankrun.exists("timers"));
}

TEST_CASE("what is neither a file nor a FIFO of ours is not replaced", "[e2e][watchdog]") {
  RankrunCase rankrun;
  fs::create_directory(rankrun.folder() / "timers");
  rankrun.set("TORCHELASTIC_ENABLE_FILE_TIMER", "1");
  rankrun.set("TORCHELASTIC_TIMER_FILE", "timers");
  rankrun.write_worker("touch started");
  const RunResult result = rankrun.run({"--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(1));
  CHECK_THAT(result.err, Contains("cannot make the timer file 'timers'"));
  CHECK(lines_of(result.err).size() == 1);
  CHECK_FALSE(rankrun.exists("started"));
}

}  // namespace rankrun::tests
