// SPDX-License-Identifier: Apache-2.0
// --hang-timeout: who hangs, who does not, and what becomes of the job.
#include "tests/support/pipe.h"
#include "tests/support/rankrun_case.h"

#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

namespace rankrun::tests {

using Catch::Contains;

namespace {

// Sleeps without end, but for the second attempt.
constexpr auto kHangsOnce = R"([ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
exec sleep 1000)";

// By its own CPU time, which stat tells in hundredths of a second.
constexpr auto kComputeForTwoSeconds = R"sh(
until [ "$(cut -d' ' -f14 /proc/$$/stat)" -ge 200 ]; do
  i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done
done)sh";

RunResult run_without_tools(RankrunCase& rankrun, std::vector<std::string> arguments) {
  rankrun.set("PATH", rankrun.folder() / "bin");
  std::filesystem::create_directory(rankrun.folder() / "bin");
  for (const char* tool : {"sleep", "touch", "cut"}) {
    std::filesystem::create_symlink(std::string("/bin/") + tool, rankrun.folder() / "bin" / tool);
  }
  arguments.insert(arguments.end(), {"--no-python", "./worker"});
  return rankrun.run(arguments);
}

}  // namespace

TEST_CASE("workers that sleep are found, shown and started again", "[e2e][hang]") {
  RankrunCase rankrun;
  rankrun.write_worker(std::string("echo \"words of $RANK\"\n") + kHangsOnce);
  const RunResult result = run_without_tools(
      rankrun, {"--nproc-per-node=2", "--hang-timeout=0.3", "--max-restarts=1", "--events=events"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(rankrun.worker_ports().size() == 4);
  CHECK_THAT(result.out, Contains("words of 1\n"));
  CHECK_THAT(result.err, Contains("ranks 0-1 hang: no progress for 0."));
  CHECK_THAT(result.err,
             Contains("rank 1 (local rank 1, pid ") && Contains(": hangs, no progress"));
  CHECK_THAT(result.err, Contains("kernel    : asleep") && Contains(" ago: words of 1\n"));
  CHECK_THAT(result.err, Contains("`kill -USR1 " + std::to_string(rankrun.pid()) + "`"));
  CHECK_THAT(result.err, Contains("restart 1 of 1") && !Contains("FAILED"));
  CHECK_THAT(rankrun.read("events"), Contains(R"("event":"hang")") && Contains(R"("ranks":[0,1])"));
}

TEST_CASE("without a restart left a hang is the root cause, and the exit code is 1",
          "[e2e][hang]") {
  RankrunCase rankrun;
  rankrun.write_worker("trap 'exit 5' TERM; sleep 1000 & wait");
  const RunResult result =
      run_without_tools(rankrun, {"--hang-timeout=0.3", "--report=report.json"});
  CHECK_THAT(result, ExitsWith(1));
  CHECK_THAT(result.err, Contains("hang      : rank 0 hangs: no progress for 0."));
  CHECK_THAT(result.err, Contains("exitcode  : 5 (pid: ") && Contains("after SIGTERM"));
  const auto report = nlohmann::json::parse(rankrun.read("report.json"));
  CHECK(report["result"] == "failed");
  CHECK(report["origin"] == "launcher");
  CHECK(report["hang"]["ranks"] == std::vector<int>{0});
  CHECK(report["hang"]["seconds"] >= 0.3);
}

TEST_CASE("a worker that computes does not hang, nor one that waits for it", "[e2e][hang]") {
  RankrunCase rankrun;
  REQUIRE(::mkfifo((rankrun.folder() / "computed").c_str(), 0600) == 0);
  rankrun.write_worker(std::string(R"(
if [ "$RANK" = 1 ]; then read line < computed; exit 0; fi)") +
                       kComputeForTwoSeconds + "\necho > computed");
  const RunResult result = run_without_tools(rankrun, {"--nproc-per-node=2", "--hang-timeout=0.3"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK_THAT(result.err, !Contains("hang"));
}

TEST_CASE("a worker that prints does not hang", "[e2e][hang]") {
  RankrunCase rankrun;
  rankrun.write_worker("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.25; done");
  const RunResult result = run_without_tools(rankrun, {"--hang-timeout=1"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == "1\n2\n3\n4\n5\n6\n7\n8\n");
}

TEST_CASE("a worker whose heartbeats stop hangs, though it computes and others are well",
          "[e2e][hang]") {
  RankrunCase rankrun;
  rankrun.write_worker(R"(
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
if [ "$RANK" = 1 ]; then touch "$RANKRUN_HEARTBEAT_FILE"; fi
while :; do :; done)");
  const RunResult result =
      run_without_tools(rankrun, {"--nproc-per-node=2", "--hang-timeout=0.3", "--max-restarts=1"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK_THAT(result.err, Contains("rank 1 hangs: no progress for 0."));
  CHECK_THAT(result.err, Contains("rank 0 (local rank 0, pid ") && Contains("waits or works"));
}

TEST_CASE("heartbeats keep a worker that sleeps from hanging", "[e2e][hang]") {
  RankrunCase rankrun;
  rankrun.write_worker(
      R"(for i in 1 2 3 4 5 6 7 8; do touch "$RANKRUN_HEARTBEAT_FILE"; sleep 0.25; done)");
  CHECK_THAT(run_without_tools(rankrun, {"--hang-timeout=1"}), ExitsWith(0));
}

TEST_CASE("a worker that waits for a console that nobody reads does not hang", "[e2e][hang]") {
  RankrunCase rankrun;
  Pipe console;
  rankrun.write_worker("i=0; while [ $i -lt 40000 ]; do i=$((i+1)); echo \"" +
                       std::string(50, 'x') + "\"; done");
  rankrun.before_exec([&] { ::dup2(console.write_end.get(), STDOUT_FILENO); });
  rankrun.start({"--hang-timeout=0.3", "--no-python", "./worker"});
  CHECK_FALSE(rankrun.ends_within(std::chrono::seconds(3)));
  while (!rankrun.ends_within(std::chrono::milliseconds(1))) {
    console.read_available();
  }
  const RunResult result = rankrun.wait();
  CHECK_THAT(result, ExitsWith(0));
  CHECK_THAT(result.err, !Contains("hang"));
}

TEST_CASE("a stop signal ends a hanging job while it is being looked at", "[e2e][hang]") {
  RankrunCase rankrun;
  rankrun.write_worker("exec sleep 1000");
  rankrun.write(
      "bin/gdb", "#!/bin/sh\ntouch looking; exec sleep 1000\n", std::filesystem::perms::owner_all);
  rankrun.set("PATH", (rankrun.folder() / "bin").string() + ":/usr/bin:/bin");
  rankrun.start({"--hang-timeout=0.2", "--no-python", "./worker"});
  rankrun.wait_for_file("looking");
  rankrun.signal(SIGTERM);
  const RunResult result = rankrun.wait();
  CHECK_THAT(result, ExitsWith(128 + SIGTERM));
  CHECK_THAT(result.err, !Contains("FAILED"));
}

TEST_CASE("gdb shows the stacks of a worker that hangs", "[e2e][hang]") {
  if (::access("/usr/bin/gdb", X_OK) != 0) {
    WARN("skipped: gdb is not installed");
    return;
  }
  RankrunCase rankrun;
  rankrun.write_worker("exec sleep 1000");
  const RunResult result = rankrun.run({"--hang-timeout=0.3", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(1));
  CHECK_THAT(result.err, Contains("stack     : /usr/bin/gdb "));
  CHECK_THAT(result.err, Contains("    #0 ") || Contains("ptrace: Operation not permitted"));
}

}  // namespace rankrun::tests
