// SPDX-License-Identifier: Apache-2.0
// Signals to the launcher, and what workers get of them (torchrun.md 4.3).
#include "tests/dropin/drop_in.h"

#include <signal.h>

namespace rankrun::tests {
namespace {

constexpr auto kAlwaysOne = "always exits with 1";

// Workers that leave the signal they got in a file and end well.
constexpr auto kCooperate = R"(
for name in TERM INT HUP QUIT USR1; do trap "echo $name >got.$RANK; exit 0" "$name"; done
touch "ready.$RANK"
sleep 1000 & wait)";

// Nobody in the group of such a worker cares for any signal but SIGKILL.
constexpr auto kDeaf = R"(
trap '' TERM INT HUP QUIT
(touch "child.$RANK"; exec sleep 1000) &
until [ -e "child.$RANK" ]; do sleep 0.02; done
touch "ready.$RANK"
exec sleep 1000)";

// Whether both workers are ready.
bool start_two(DropIn& job, const std::string& body, std::vector<std::string> options = {}) {
  options.emplace_back("--nproc-per-node=2");
  job.start_worker(body, options);
  return job.expect_file("ready.0") && job.expect_file("ready.1") && job.expect_watching();
}

void ignore_hangup() {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGHUP, &action, nullptr);
}

void block_and_ignore_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGUSR1, SIGUSR2, SIGCHLD, SIGPIPE}) {
    sigaddset(&set, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace

RANKRUN_DROP_IN_CASE("a signal is passed on and stops the job, and the exit code names it") {
  job.torchrun_differs(kAlwaysOne, {"exit code"});
  const auto [number, name] = GENERATE(table<int, std::string>(
      {{SIGTERM, "TERM\n"}, {SIGINT, "INT\n"}, {SIGHUP, "HUP\n"}, {SIGQUIT, "QUIT\n"}}));
  if (!start_two(job, kCooperate, {"--max-restarts=3"})) return;
  job.signal(number);
  job.expect_exit(job.wait(), 128 + number);
  job.expect_equal("rank 0 gets it", job.read("got.0"), name);
  job.expect_equal("rank 1 gets it", job.read("got.1"), name);
  job.expect(job.worker_ports().size() == 2, "nothing is started again");
}

RANKRUN_DROP_IN_CASE("workers that ignore the signal are killed at the shutdown timeout") {
  job.torchrun_differs(kAlwaysOne, {"exit code"});
  std::vector<std::string> options;
  SECTION("set by the option") {
    options = {"--shutdown-timeout=1"};
  }
  SECTION("set by the variable") {
    job.set("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "1");
  }
  if (!start_two(job, kDeaf, options)) return;
  job.signal(SIGTERM);
  const auto asked = base::Clock::now();
  const RunResult result =
      job.expect_end_within(std::chrono::seconds(20), "the job ends long before 30 s");
  job.expect_exit(result, 128 + SIGTERM);
  job.expect(base::Clock::now() - asked >= std::chrono::seconds(1), "not before the timeout");
}

RANKRUN_DROP_IN_CASE("a second Ctrl-C kills at once") {
  job.torchrun_differs("waits for the whole shutdown timeout again", {"the job ends", "exit code"});
  if (!start_two(job, kDeaf, {"--shutdown-timeout=1000"})) return;
  job.signal(SIGINT);
  if (!job.expect_error_text("SIGINT")) return;
  job.signal(SIGINT);
  job.expect_exit(job.expect_end_within(std::chrono::seconds(10), "the job ends"), 128 + SIGINT);
}

RANKRUN_DROP_IN_CASE("under nohup a hangup does not stop the job") {
  job.torchrun_differs("handles the hangup although it is ignored",
                       {"exit code", "both workers finish"});
  job.before_exec(ignore_hangup);
  if (!start_two(job,
                 R"(trap 'exit 1' HUP
touch "ready.$RANK"
until [ -e go ]; do sleep 0.02; done
touch "finished.$RANK")")) {
    return;
  }
  job.signal(SIGHUP);
  job.write("go", "");
  job.expect_exit(job.wait(), 0);
  job.expect(job.exists("finished.0") && job.exists("finished.1"), "both workers finish");
}

RANKRUN_DROP_IN_CASE("a listed signal that asks for no stop is passed on, and the job goes on") {
  job.torchrun_differs("every listed signal stops the job", {"exit code"});
  if (!start_two(job,
                 R"(trap 'touch "got.$RANK"' USR1
touch "ready.$RANK"
until [ -e "got.$RANK" ]; do sleep 0.02; done
exit 0)",
                 {"--signals-to-handle=SIGTERM, SIGUSR1"})) {
    return;
  }
  job.signal(SIGUSR1);
  job.expect_exit(job.wait(), 0);
  job.expect(job.exists("got.0") && job.exists("got.1"), "both workers get it");
}

RANKRUN_DROP_IN_CASE("a launcher that is stopped and continued has missed nothing") {
  job.start_worker(R"(touch ready; until [ -e go ]; do sleep 0.02; done
touch finished)");
  if (!job.expect_file("ready")) return;
  job.signal(SIGSTOP);
  job.write("go", "");
  job.expect_file("finished");
  job.signal(SIGCONT);
  job.expect_exit(job.wait(), 0);
}

RANKRUN_DROP_IN_CASE("workers die with a killed launcher") {
  job.torchrun_differs("they live on", {"both are gone"});
  if (!start_two(
          job, "echo $$ >pid.$RANK; touch ready.$RANK; exec sleep 1000", {"--log-dir=/dev/null"})) {
    return;
  }
  job.signal(SIGKILL);
  job.wait();
  const auto is_gone = [&](const std::string& file) {
    return !std::filesystem::exists("/proc/" + lines_of(job.read(file)).at(0) + "/exe");
  };
  job.expect_soon("both are gone", [&] { return is_gone("pid.0") && is_gone("pid.1"); });
}

RANKRUN_DROP_IN_CASE("every worker leads a session and a process group of its own") {
  const RunResult result = job.run_worker(R"(read -r _ _ _ _ group session _ </proc/$$/stat
[ "$group" = $$ ] && [ "$session" = $$ ] && echo leads)");
  job.expect_exit(result, 0);
  job.expect_equal("it leads", result.out, "leads\n");
}

RANKRUN_DROP_IN_CASE("workers inherit neither blocked nor ignored signals") {
  job.torchrun_differs("blocked signals stay blocked", {"what is blocked and ignored"});
  job.before_exec(block_and_ignore_signals);
  const RunResult result =
      job.run({"--no-python", "grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"});
  job.expect_exit(result, 0);
  job.expect_equal("what is blocked and ignored",
                   result.out,
                   "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

}  // namespace rankrun::tests
