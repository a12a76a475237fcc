// SPDX-License-Identifier: Apache-2.0
// Stopping a job by signals to rankrun, and what signals of its parent's must not break.
#include "tests/support/rankrun_case.h"

#include <fmt/format.h>

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iostream>

namespace rankrun::tests {

namespace {

// Two workers that leave the signal they got in a file and exit with 0.
constexpr auto kCooperate = R"(
for name in TERM INT HUP QUIT; do trap "echo $name >got.$RANK; exit 0" "$name"; done
touch "ready.$RANK"
sleep 1000 & wait)";

// Nobody in the group of such a worker cares for any signal but SIGKILL.
constexpr auto kDeaf = R"(
trap '' TERM INT HUP QUIT
(touch "child.$RANK"; exec sleep 1000) &
until [ -e "child.$RANK" ]; do sleep 0.02; done
touch "ready.$RANK"
exec sleep 1000)";

void start_two(RankrunCase& rankrun, const std::string& worker, std::vector<std::string> options) {
  rankrun.write_worker(worker);
  for (const char* part : {"--nproc-per-node=2", "--no-python", "./worker"}) {
    options.emplace_back(part);
  }
  rankrun.start(options);
  rankrun.wait_for_file("ready.0");
  rankrun.wait_for_file("ready.1");
}

void ignore_signal(int number) {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  ::sigaction(number, &action, nullptr);
}

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

TEST_CASE("a signal stops all workers, and the exit code tells, even when they end well",
          "[e2e][signals]") {
  RankrunCase rankrun;
  const auto [number, name] = GENERATE(table<int, std::string>(
      {{SIGTERM, "TERM\n"}, {SIGINT, "INT\n"}, {SIGHUP, "HUP\n"}, {SIGQUIT, "QUIT\n"}}));
  INFO(name);
  start_two(rankrun, kCooperate, {"--max-restarts=3"});
  rankrun.signal(number);
  CHECK_THAT(rankrun.wait(), ExitsWith(128 + number));
  CHECK(rankrun.read("got.0") == name);
  CHECK(rankrun.read("got.1") == name);
  CHECK(rankrun.worker_ports().size() == 2);  // nothing was started again
}

TEST_CASE("workers that ignore the signal are killed with their children at the shutdown timeout",
          "[e2e][signals]") {
  RankrunCase rankrun;
  start_two(rankrun, kDeaf, {"--shutdown-timeout=1"});
  rankrun.signal(SIGTERM);
  const RunResult result = rankrun.wait();
  CHECK_THAT(result, ExitsWith(128 + SIGTERM));
  CHECK(result.wall >= std::chrono::seconds(1));  // not before it
}

TEST_CASE("a second signal kills at once", "[e2e][signals]") {
  RankrunCase rankrun;
  start_two(rankrun, kDeaf, {"--shutdown-timeout=1000"});
  rankrun.signal(SIGINT);
  rankrun.wait_for_error_text("got SIGINT");
  rankrun.signal(SIGINT);
  CHECK_THAT(rankrun.wait(), ExitsWith(128 + SIGINT));
}

TEST_CASE("a second signal ends the wait for workers that a failed one left", "[e2e][signals]") {
  RankrunCase rankrun;
  start_two(rankrun,
            R"(if [ "$RANK" = 1 ]; then
  touch ready.1
  until [ -e ready.0 ]; do sleep 0.02; done
  exit 5
fi)" + std::string(kDeaf),
            {"--shutdown-timeout=1000"});
  rankrun.wait_for_error_text("exited with 5");
  rankrun.signal(SIGTERM);
  rankrun.wait_for_error_text("got SIGTERM");
  rankrun.signal(SIGTERM);
  CHECK_THAT(rankrun.wait(), ExitsWith(128 + SIGTERM));
}

TEST_CASE("workers die with a killed rankrun", "[e2e][signals]") {
  RankrunCase rankrun;
  // A killed rankrun cannot remove its temporary folder.
  start_two(rankrun, "touch ready.$RANK; exec sleep 1000", {"--log-dir=/dev/null"});
  rankrun.signal(SIGKILL);
  CHECK(rankrun.wait().status == agent::ExitStatus::signaled(SIGKILL, false));
}

TEST_CASE("workers do not inherit blocked or ignored signals", "[e2e][signals]") {
  RankrunCase rankrun;
  rankrun.before_exec([] {
    for (const int number : {SIGCHLD, SIGPIPE, SIGTERM}) {
      ignore_signal(number);
    }
    block_all_signals();
  });
  const RunResult result =
      rankrun.run({"--no-python", "grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("rankrun works under a parent that ignores SIGCHLD and blocks signals",
          "[e2e][signals]") {
  RankrunCase rankrun;
  rankrun.before_exec([] {
    ignore_signal(SIGCHLD);
    block_all_signals();
  });
  SECTION("exit codes are seen") {
    rankrun.write_worker("exit 7");
    CHECK_THAT(rankrun.run({"--no-python", "./worker"}), ExitsWith(7));
  }
  SECTION("signals are heard") {
    start_two(rankrun, kCooperate, {});
    rankrun.signal(SIGTERM);
    CHECK_THAT(rankrun.wait(), ExitsWith(128 + SIGTERM));
  }
}

TEST_CASE("under nohup a hangup stops neither rankrun nor its workers", "[e2e][signals]") {
  RankrunCase rankrun;
  rankrun.before_exec([] { ignore_signal(SIGHUP); });
  start_two(
      rankrun, "touch ready.$RANK\nuntil [ -e go ]; do sleep 0.02; done\nkill -HUP $$\nexit 0", {});
  rankrun.signal(SIGHUP);
  rankrun.write("go", "");
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
}

TEST_CASE("user signals reach the workers and end nothing", "[e2e][signals]") {
  RankrunCase rankrun;
  start_two(rankrun,
            R"(
for name in USR1 USR2; do trap "echo $name >>got.$RANK" "$name"; done
trap 'exit 0' TERM
touch "ready.$RANK"
while :; do sleep 0.02; done)",
            {"--max-restarts=3"});
  const auto both_got = [&](const std::string& names) {
    return rankrun.read("got.0") == names && rankrun.read("got.1") == names;
  };
  rankrun.signal(SIGUSR1);
  rankrun.wait_until("SIGUSR1 in both", [&] { return both_got("USR1\n"); });
  rankrun.signal(SIGUSR2);
  rankrun.wait_until("SIGUSR2 in both", [&] { return both_got("USR1\nUSR2\n"); });
  rankrun.signal(SIGTERM);
  CHECK_THAT(rankrun.wait(), ExitsWith(128 + SIGTERM));
}

TEST_CASE("a listed signal is passed on, one that is not listed acts as it does on any program",
          "[e2e][signals]") {
  RankrunCase rankrun;
  start_two(rankrun,
            R"(
trap 'touch "got.$RANK"' WINCH
touch "ready.$RANK"
while :; do sleep 0.02; done)",
            {"--signals-to-handle=SIGWINCH", "--log-dir=/dev/null"});
  rankrun.signal(SIGWINCH);
  rankrun.wait_for_file("got.0");
  rankrun.wait_for_file("got.1");
  rankrun.signal(SIGTERM);
  CHECK(rankrun.wait().status == agent::ExitStatus::signaled(SIGTERM, false));
}

TEST_CASE("with --on-term=notify workers take their time after SIGTERM", "[e2e][signals]") {
  RankrunCase rankrun;
  start_two(rankrun,
            R"(
trap 'echo checkpoint >"got.$RANK"' TERM
touch "ready.$RANK"
until [ -e go ]; do sleep 0.02; done
exit 0)",
            {"--on-term=notify", "--shutdown-timeout=0", "--max-restarts=3"});
  rankrun.signal(SIGTERM);
  rankrun.wait_for_file("got.0");
  rankrun.wait_for_file("got.1");
  SECTION("and end by themselves") {
    rankrun.write("go", "");
    CHECK_THAT(rankrun.wait(), ExitsWith(128 + SIGTERM));
    CHECK(rankrun.worker_ports().size() == 2);
  }
  SECTION("unless a second signal stops them") {
    rankrun.signal(SIGTERM);
    CHECK_THAT(rankrun.wait(), ExitsWith(128 + SIGTERM));
  }
}

TEST_CASE("stopping and continuing rankrun is harmless", "[e2e][signals]") {
  RankrunCase rankrun;
  start_two(rankrun, "touch ready.$RANK; until [ -e go ]; do sleep 0.02; done; exit 6", {});
  rankrun.signal(SIGSTOP);
  rankrun.write("go", "");
  rankrun.signal(SIGCONT);
  CHECK_THAT(rankrun.wait(), ExitsWith(6));
}

TEST_CASE("behind a shell, Ctrl-C reaches rankrun and its workers all the same", "[e2e][signals]") {
  RankrunCase rankrun;
  rankrun.start_through({"sh", "-c", "\"$@\"; exit $?", "sh"});
  rankrun.before_exec([] { ::setpgid(0, 0); });
  start_two(rankrun, kCooperate, {});
  // As a terminal does: to the whole group.
  ::kill(-rankrun.pid(), SIGINT);
  CHECK(rankrun.wait().status == agent::ExitStatus::signaled(SIGINT, false));
  CHECK(rankrun.read("got.0") == "INT\n");
  CHECK(rankrun.read("got.1") == "INT\n");
}

TEST_CASE("as the first process of a container rankrun reaps orphans and obeys signals",
          "[e2e][signals]") {
  if (::geteuid() != 0) {
    std::cout << "SKIPPED: a process namespace needs root" << std::endl;
    return;
  }
  RankrunCase rankrun;
  rankrun.start_through({"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"});
  rankrun.write_worker(R"sh(
trap 'exit 0' TERM
(true &)
(true &)
children_of_init() {
  for child in $(grep -lsE '^PPid:[[:space:]]1$' /proc/[0-9]*/status); do
    grep -LsE '^Name:[[:space:]]keeper$' "$child"
  done
}
until [ "$(children_of_init)" = "/proc/$$/status" ]; do sleep 0.02; done
touch reaped
[ "$1" = stay ] || exit 5
while :; do sleep 0.02; done)sh");
  SECTION("and its exit code is the worker's") {
    CHECK_THAT(rankrun.run({"--no-python", "./worker"}), ExitsWith(5));
  }
  SECTION("and stops on SIGTERM") {
    rankrun.start({"--no-python", "./worker", "stay"});
    rankrun.wait_for_file("reaped");
    // unshare does not pass signals on; rankrun is its only child.
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", rankrun.pid()));
    pid_t init = 0;
    REQUIRE(children >> init);
    ::kill(init, SIGTERM);
    CHECK_THAT(rankrun.wait(), ExitsWith(128 + SIGTERM));
  }
}

}  // namespace rankrun::tests
