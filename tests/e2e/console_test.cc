// SPDX-License-Identifier: Apache-2.0
// The three standard descriptors of rankrun and its workers.
#include "tests/support/pipe.h"
#include "tests/support/rankrun_case.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace rankrun::tests {

using Catch::Contains;

namespace {

// Sends rankrun's stderr into the pipe.
void connect_stderr(RankrunCase& rankrun, const Pipe& pipe) {
  rankrun.before_exec([fd = pipe.write_end.get()] { ::dup2(fd, STDERR_FILENO); });
}

/// Waits for more; empty at the end of the stream.
std::string read_some(const Pipe& pipe) {
  constexpr int kLimitMs = 40'000;
  pollfd ready{.fd = pipe.read_end.get(), .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&ready, 1, kLimitMs) == 1);
  std::string bytes(1 << 16, '\0');
  const ssize_t got = ::read(pipe.read_end.get(), bytes.data(), bytes.size());
  REQUIRE(got >= 0);
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace

TEST_CASE("lines that workers write to stderr at the same time never mix", "[e2e][console]") {
  constexpr std::string_view kRanks = "0123";
  constexpr std::size_t kLines = 400;
  constexpr std::size_t kLength = 4000;  // with its end below PIPE_BUF: one write is one line
  RankrunCase rankrun;
  rankrun.set("OMP_NUM_THREADS", "1");  // no warning among the lines
  Pipe console;
  connect_stderr(rankrun, console);
  rankrun.write_worker(R"(
line=$(printf '%04000d' 0 | tr 0 "$RANK")
touch "ready.$RANK"
until [ -e ready.0 ] && [ -e ready.1 ] && [ -e ready.2 ] && [ -e ready.3 ]; do sleep 0.02; done
i=0
while [ $i -lt 400 ]; do echo "$line" >&2; i=$((i + 1)); done)");
  rankrun.start({"--nproc-per-node=4", "--no-python", "./worker"});
  console.write_end.reset();
  std::string all;
  for (std::string more = read_some(console); !more.empty(); more = read_some(console)) {
    all += more;
  }
  CHECK_THAT(rankrun.wait(), ExitsWith(0));

  std::array<std::size_t, kRanks.size()> seen{};
  std::size_t broken = 0;
  for (const std::string& line : lines_of(all)) {
    const std::size_t rank = kRanks.find(line.substr(0, 1));
    const bool is_whole = rank < kRanks.size() && line == std::string(kLength, kRanks[rank]);
    ++(is_whole ? seen.at(rank) : broken);
  }
  CHECK(broken == 0);
  CHECK(seen == std::array{kLines, kLines, kLines, kLines});
}

TEST_CASE("workers go on when nobody reads rankrun's stderr any more", "[e2e][console]") {
  RankrunCase rankrun;
  Pipe console;
  connect_stderr(rankrun, console);
  rankrun.write_worker(R"(
echo hello >&2
until [ -e go ]; do sleep 0.02; done
i=0
while [ $i -lt 2000 ]; do echo "a line that nobody will ever read: $i" >&2; i=$((i + 1)); done
touch "finished.$RANK")");
  rankrun.start({"--nproc-per-node=2", "--no-python", "./worker"});
  console.write_end.reset();
  std::string seen;
  while (seen.find("hello") == std::string::npos) {
    seen += read_some(console);
  }
  console.read_end.reset();
  rankrun.write("go", "");
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
  CHECK(rankrun.exists("finished.0"));
  CHECK(rankrun.exists("finished.1"));
}

TEST_CASE("an unfinished line is shown while its worker waits", "[e2e][console]") {
  RankrunCase rankrun;
  rankrun.write_worker("printf 'continue? ' >&2; until [ -e go ]; do sleep 0.02; done");
  rankrun.start({"--no-python", "./worker"});
  rankrun.wait_for_error_text("continue? ");
  rankrun.write("go", "");
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
}

TEST_CASE("the last words of a worker reach stderr", "[e2e][console]") {
  RankrunCase rankrun;
  rankrun.write_worker("printf 'no newline here' >&2; kill -KILL $$");
  const RunResult result = rankrun.run({"--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(128 + SIGKILL));
  CHECK_THAT(result.err.substr(0, result.err.find("===")), Contains("no newline here"));
}

TEST_CASE("stdout is the workers' own, untouched", "[e2e][console]") {
  RankrunCase rankrun;
  const RunResult result = rankrun.run({"--no-python", "printf", R"(a\rb\000c\n\nend)"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == std::string("a\rb\0c\n\nend", 10));
  CHECK(result.err.empty());
}

TEST_CASE("rankrun and its workers run with the standard descriptors closed", "[e2e][console]") {
  RankrunCase rankrun;
  rankrun.before_exec([] { ::close_range(0, 2, 0); });
  CHECK_THAT(rankrun.run({"--no-python", "cp", "-P", "/proc/self/fd/0", "/proc/self/fd/1", "."}),
             ExitsWith(0));
  for (const char* descriptor : {"0", "1"}) {
    CHECK(std::filesystem::read_symlink(rankrun.folder() / descriptor) == "/dev/null");
  }
}

TEST_CASE("workers inherit no descriptor but the standard ones", "[e2e][console]") {
  RankrunCase rankrun;
  rankrun.before_exec([] { ::dup2(STDIN_FILENO, 77); });
  const RunResult result = rankrun.run({"--no-python", "ls", "/proc/self/fd"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == "0\n1\n2\n3\n");  // 3 is the folder that ls reads
}

TEST_CASE("a console that is full and unread delays no stop", "[e2e][console]") {
  RankrunCase rankrun;
  Pipe console;
  ::fcntl(console.write_end.get(), F_SETFL, O_NONBLOCK);
  while (::write(console.write_end.get(), "x", 1) == 1) {
  }
  ::fcntl(console.write_end.get(), F_SETFL, 0);
  connect_stderr(rankrun, console);
  rankrun.write_worker("trap 'touch stopped; exit 0' TERM; touch ready; sleep 1000 & wait");
  rankrun.start({"--nproc-per-node=2", "--no-python", "./worker"});
  rankrun.wait_for_file("ready");
  rankrun.signal(SIGTERM);
  rankrun.wait_for_file("stopped");
  CHECK_THAT(rankrun.wait(), ExitsWith(128 + SIGTERM));
}

}  // namespace rankrun::tests
