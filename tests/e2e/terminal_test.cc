// SPDX-License-Identifier: Apache-2.0
// rankrun started from a terminal: who reads it, and where its keys go.
#include "tests/support/pseudo_terminal.h"
#include "tests/support/rankrun_case.h"

#include <termios.h>

#include <csignal>

namespace rankrun::tests {
namespace {

constexpr auto kCtrlC = "\x03";
constexpr auto kCtrlZ = "\x1a";

void on_terminal(RankrunCase& rankrun, const PseudoTerminal& terminal, bool with_stderr = false) {
  rankrun.before_exec([&terminal, with_stderr] { terminal.take_session(with_stderr); });
}

}  // namespace

TEST_CASE("a single worker reads the terminal", "[e2e][terminal]") {
  RankrunCase rankrun;
  const PseudoTerminal terminal;
  on_terminal(rankrun, terminal);
  rankrun.write_worker("touch ready; read -r line; echo \"$line\" >got");
  rankrun.start({"--no-python", "./worker"});
  rankrun.wait_for_file("ready");
  terminal.type("continue\n");
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
  CHECK(rankrun.read("got") == "continue\n");
}

TEST_CASE("several workers do not compete for the terminal", "[e2e][terminal]") {
  RankrunCase rankrun;
  const PseudoTerminal terminal;
  on_terminal(rankrun, terminal);
  rankrun.write_worker("readlink /proc/self/fd/0 >got.$RANK");
  CHECK_THAT(rankrun.run({"--nproc-per-node=2", "--no-python", "./worker"}), ExitsWith(0));
  CHECK(rankrun.read("got.0") == "/dev/null\n");
  CHECK(rankrun.read("got.1") == "/dev/null\n");
}

TEST_CASE("the chosen worker has the terminal with job control", "[e2e][terminal]") {
  RankrunCase rankrun;
  const PseudoTerminal terminal;
  on_terminal(rankrun, terminal);
  termios before{};
  ::tcgetattr(terminal.master(), &before);
  // Opening /dev/tty needs a controlling terminal; reading it, to be in the foreground.
  rankrun.write_worker(R"(
if [ "$RANK" = 0 ]; then readlink /proc/self/fd/0 >got.0; exit 0; fi
trap 'echo interrupted >>got.1' INT
touch ready
read -r line </dev/tty; echo "$line" >>got.1
touch again
until read -r line </dev/tty; do :; done  # a trap ends a read
echo "$line" >>got.1)");
  rankrun.start({"--nproc-per-node=2", "--stdin-rank=1", "--no-python", "./worker"});
  rankrun.wait_for_file("ready");
  terminal.type("where\n");
  rankrun.wait_for_file("again");
  // Again and again: a shell may miss one right before it reads, until that read ends.
  rankrun.wait_until("Ctrl-C in the worker", [&] {
    terminal.type(kCtrlC);
    return rankrun.read("got.1").find("interrupted\n") != std::string::npos;
  });
  terminal.type("continue\n");
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
  CHECK_THAT(rankrun.read("got.1"), Catch::StartsWith("where\ninterrupted\n"));
  CHECK_THAT(rankrun.read("got.1"), Catch::EndsWith("\ncontinue\n"));
  termios after{};
  ::tcgetattr(terminal.master(), &after);
  CHECK(after.c_lflag == before.c_lflag);
  CHECK(after.c_iflag == before.c_iflag);
  CHECK(::cfgetospeed(&after) == ::cfgetospeed(&before));
  CHECK(rankrun.read("got.0") == "/dev/null\n");
}

TEST_CASE("a stopped worker stops rankrun for its shell, and both go on", "[e2e][terminal]") {
  RankrunCase rankrun;
  const PseudoTerminal terminal;
  on_terminal(rankrun, terminal, true);  // bash looks for its terminal there
  constexpr auto kShell = R"(set -m
"$@"; echo $? >stopped
fg; code=$?
exit $code)";
  rankrun.start_through({"bash", "-c", kShell, "shell"});
  rankrun.write_worker("touch ready; read -r line </dev/tty; echo \"$line\" >got");
  rankrun.start({"--stdin-rank=0", "--no-python", "./worker"});
  rankrun.wait_for_file("ready");
  terminal.type(kCtrlZ);
  rankrun.wait_until("stop", [&] { return !rankrun.read("stopped").empty(); });
  CHECK(rankrun.read("stopped") == std::to_string(128 + SIGTSTP) + "\n");
  terminal.type("continue\n");
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
  CHECK(rankrun.read("got") == "continue\n");
}

}  // namespace rankrun::tests
