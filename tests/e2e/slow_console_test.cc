// SPDX-License-Identifier: Apache-2.0
// A console that is slow, stopped, closed or a terminal, and log directories in trouble: workers
// never suffer, and what can be kept is.
#include "tests/support/pipe.h"
#include "tests/support/pseudo_terminal.h"
#include "tests/support/rankrun_case.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace rankrun::tests {

using Catch::Contains;

namespace {

// 20 MB on stdout, and then our parent's peak memory into a file.
constexpr auto kMuchOutput = R"(
seq -f 'a line that is rather long, so that there is something to keep: %.0f' 250000
grep VmHWM /proc/$PPID/status >"memory.$RANK"
touch "finished.$RANK")";

std::string much_output(const std::string& prefix) {
  std::string text;
  for (int i = 1; i <= 250'000; ++i) {
    text += prefix +
            "a line that is rather long, so that there is something to keep: " + std::to_string(i) +
            '\n';
  }
  return text;
}

// Waits for more of what a descriptor has; empty at its end.
std::string read_some(int fd) {
  constexpr int kLimitMs = 40'000;
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&ready, 1, kLimitMs) == 1);
  std::string bytes(1 << 16, '\0');
  const ssize_t got = ::read(fd, bytes.data(), bytes.size());
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

unsigned long peak_kib(const RankrunCase& rankrun) {
  return std::stoul(rankrun.read("memory.0").substr(6));
}

}  // namespace

TEST_CASE("with tee a stopped console stalls no worker, and shows all once it is read",
          "[e2e][output]") {
  RankrunCase rankrun;
  Pipe console;
  rankrun.before_exec([fd = console.write_end.get()] { ::dup2(fd, STDOUT_FILENO); });
  rankrun.write_worker(kMuchOutput);
  rankrun.start({"--tee=1", "--log-dir=logs", "--no-python", "./worker"});
  console.write_end.reset();
  rankrun.wait_for_file("finished.0");
  CHECK(peak_kib(rankrun) <= kMostKib);
  std::string all;
  for (std::string more = read_some(console.read_end.get()); !more.empty();
       more = read_some(console.read_end.get())) {
    all += more;
  }
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
  CHECK((all == much_output("[default0]:")));
}

TEST_CASE("a stopped terminal stalls no worker either", "[e2e][output]") {
  RankrunCase rankrun;
  const PseudoTerminal terminal;
  rankrun.before_exec([&terminal] {
    terminal.take_session(true);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
  });
  rankrun.write_worker(kMuchOutput);
  rankrun.start({"--tee=1", "--log-dir=logs", "--no-python", "./worker"});
  rankrun.wait_for_file("finished.0");
  CHECK(peak_kib(rankrun) <= kMostKib);
  std::string all;
  for (std::string more = read_some(terminal.master()); !more.empty();
       more = read_some(terminal.master())) {
    all += more;
  }
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
  all.erase(std::remove(all.begin(), all.end(), '\r'), all.end());
  CHECK((all == much_output("[default0]:")));
}

TEST_CASE("with tee workers go on when the console is closed, and the files have all",
          "[e2e][output]") {
  RankrunCase rankrun;
  Pipe console;
  rankrun.before_exec([fd = console.write_end.get()] { ::dup2(fd, STDOUT_FILENO); });
  rankrun.write_worker("until [ -e closed ]; do sleep 0.02; done\n" + std::string(kMuchOutput) +
                       "\ncp \"$(dirname \"$TORCHELASTIC_ERROR_FILE\")/stdout.log\" copy");
  rankrun.start({"--tee=1", "--log-dir=logs", "--no-python", "./worker"});
  console.read_end.reset();
  rankrun.write("closed", "");
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
  const auto run = std::filesystem::directory_iterator(rankrun.folder() / "logs")->path();
  CHECK(std::filesystem::file_size(run / "attempt_0/0/stdout.log") == much_output("").size());
}

TEST_CASE("on a terminal a worker's stderr is one, of the same size, and passes unchanged",
          "[e2e][terminal]") {
  RankrunCase rankrun;
  const PseudoTerminal terminal;
  const auto resize = [&terminal](unsigned short rows, unsigned short columns) {
    const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    REQUIRE(::ioctl(terminal.master(), TIOCSWINSZ, &size) == 0);
  };
  resize(33, 111);
  rankrun.before_exec([&terminal] { terminal.take_session(true); });
  rankrun.write_worker(R"(
[ -t 2 ] && stty size </dev/stderr >size
trap 'stty size </dev/stderr >new_size' WINCH
touch ready
until [ -e new_size ]; do sleep 0.02; done
printf '\r 10%%\r\033[32m100%%\033[0m\n' >&2)");
  rankrun.start({"--no-python", "./worker"});
  rankrun.wait_for_file("ready");
  CHECK(rankrun.read("size") == "33 111\n");
  resize(20, 70);
  std::string all;
  for (std::string more = read_some(terminal.master()); !more.empty();
       more = read_some(terminal.master())) {
    all += more;
  }
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
  CHECK(rankrun.read("new_size") == "20 70\n");
  CHECK(all == "\r 10%\r\x1b[32m100%\x1b[0m\r\n");  // the last \r is our terminal's own
}

TEST_CASE("a log file that can take no more harms no worker and is told once", "[e2e][output]") {
  RankrunCase rankrun;
  const std::string worker = "seq 100000; touch \"finished.$RANK\"";
  SECTION("because of the limit on the length of files") {
    Pipe console;
    rankrun.before_exec([fd = console.write_end.get()] {
      ::dup2(fd, STDOUT_FILENO);
      const rlimit limit{.rlim_cur = 100'000, .rlim_max = RLIM_INFINITY};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    });
    rankrun.write_worker(worker);
    rankrun.start({"--tee=1", "--log-dir=logs", "--no-python", "./worker"});
    console.write_end.reset();
    std::string all;
    for (std::string more = read_some(console.read_end.get()); !more.empty();
         more = read_some(console.read_end.get())) {
      all += more;
    }
    CHECK(std::count(all.begin(), all.end(), '\n') == 100'000);  // the console shows all
  }
  SECTION("because its disk is full") {
    const std::string logs = (rankrun.folder() / "logs").string();
    std::filesystem::create_directory(logs);
    if (::mount("tmpfs", logs.c_str(), "tmpfs", 0, "size=128k") != 0) {
      WARN("SKIPPED: mounting a small file system needs root");
      return;
    }
    rankrun.write_worker(worker);
    rankrun.start({"--tee=1", "--log-dir=logs", "--no-python", "./worker"});
    rankrun.wait_for_file("finished.0");
    rankrun.wait_until("the end of the line", [&] {
      return rankrun.read("rankrun.err").find("goes on without it\n") != std::string::npos;
    });
  }
  const RunResult result = rankrun.wait();
  ::umount2((rankrun.folder() / "logs").c_str(), MNT_DETACH);
  CHECK_THAT(result, ExitsWith(0));
  CHECK(rankrun.exists("finished.0"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK_THAT(result.err, Contains("stdout.log") && Contains("the output goes on without it"));
}

TEST_CASE("a log directory that vanishes harms no worker", "[e2e][output]") {
  RankrunCase rankrun;
  // The first attempt takes its directory away and fails; the second finds it made anew.
  rankrun.write_worker(R"(
echo "attempt $TORCHELASTIC_RESTART_COUNT"
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
rm -r logs
exit 1)");
  const RunResult result =
      rankrun.run({"--tee=1", "--max-restarts=1", "--log-dir=logs", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == "[default0]:attempt 0\n[default0]:attempt 1\n");
  CHECK_THAT(result.err, Contains("cannot create log directory") && Contains("goes on without"));
}

}  // namespace rankrun::tests
