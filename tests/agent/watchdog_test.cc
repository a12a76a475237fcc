// SPDX-License-Identifier: Apache-2.0
#include "agent/watchdog.h"

#include "store/base/async.h"
#include "store/base/task_group.h"
#include "store/base/unique_fd.h"
#include "tests/support/recorded_log.h"
#include "tests/support/run_loop.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rankrun::agent {
namespace {

using Catch::Contains;
namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr base::Duration kLimit = std::chrono::seconds(20);

// A child that waits for a signal, in a session of its own or in ours.
class Child {
 public:
  enum class Leads { session, nothing };
  explicit Child(Leads leads) : pid_(::fork()) {
    if (pid_ == 0) {
      ::signal(SIGTERM, SIG_DFL);  // Catch2 would tell of it
      sigset_t none;
      sigemptyset(&none);
      ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
      if (leads == Leads::session) ::setsid();
      ::raise(SIGSTOP);
      for (;;) {
        ::pause();
      }
    }
    siginfo_t stopped{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED);
    ::kill(pid_, SIGCONT);
  }
  ~Child() { kill_and_wait(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  bool lives() const {
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
    return ended.si_pid == 0;
  }
  void kill_and_wait() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ending_signal();
  }
  // That which it has been sent.
  int ending_signal() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

std::string line(pid_t pid, const std::string& scope, double expires, int signal = SIGTERM) {
  return fmt::format(
      "{{\"version\": 1, \"pid\": {}, \"scope_id\": \"{}\", \"expiration_time\": {}, "
      "\"signal\": {}}}\n",
      pid,
      scope,
      expires,
      signal);
}

constexpr double kPast = 1;
constexpr double kFuture = 4e9;
constexpr double kReleased = -1;

// A watchdog whose FIFO the test writes to. It has one worker.
struct Setup {
  Setup() {
    auto opened = Watchdog::open(loop.get_executor(), path, log.log());
    REQUIRE(opened);
    watchdog = std::move(*opened);
  }

  void watch() {
    watchdog->watch({worker.pid()}, [this](int local_rank, const Timer& timer) {
      CHECK(local_rank == 0);
      expired.push_back(timer);
    });
  }

  void write(const std::string& text) const {
    const base::UniqueFd fifo(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(::write(fifo.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

  // Runs the watchdog until so many timers have expired. Lines are read in order, so a timer of the
  // worker itself at their end tells that all before it have been looked at.
  void run_until_expired(std::size_t count) {
    tests::run_loop(loop, [](Setup& self, std::size_t wanted) -> asio::awaitable<void> {
      base::TaskGroup tasks(self.loop.get_executor(),
                            [](const std::exception_ptr&) { FAIL("the watchdog threw"); });
      tasks.spawn(self.watchdog->run());
      asio::steady_timer pause(self.loop);
      const base::TimePoint deadline = base::Clock::now() + kLimit;
      while (self.expired.size() < wanted && base::Clock::now() < deadline) {
        pause.expires_after(std::chrono::milliseconds(1));
        co_await pause.async_wait(base::kUseTuple);
      }
      tasks.stop();
      co_await tasks.join();
    }(*this, count));
    REQUIRE(expired.size() == count);
  }

  tests::TempDir dir;
  std::string path = dir.path() / "timers";
  tests::RecordedLog log;
  asio::io_context loop{1};
  Child worker{Child::Leads::session};
  std::vector<Timer> expired;
  std::unique_ptr<Watchdog> watchdog;
};

TEST_CASE("the process whose timer expires gets its signal", "[agent][watchdog]") {
  Setup setup;
  setup.watch();
  setup.write(line(setup.worker.pid(), "epoch", kPast));
  setup.run_until_expired(1);
  CHECK(setup.expired.front().scope == "epoch");
  CHECK(setup.expired.front().pid == setup.worker.pid());
  CHECK(setup.worker.ending_signal() == SIGTERM);
}

TEST_CASE("timers that are taken back or far away end nobody", "[agent][watchdog]") {
  Setup setup;
  setup.watch();
  const double soon = static_cast<double>(::time(nullptr)) + 2;
  setup.write(line(setup.worker.pid(), "a", soon) + line(setup.worker.pid(), "a", kReleased) +
              line(setup.worker.pid(), "b", kFuture) +
              line(setup.worker.pid(), "c", soon + 1, SIGCONT));
  setup.run_until_expired(1);
  CHECK(setup.expired.front().scope == "c");
  CHECK(setup.worker.lives());
}

TEST_CASE("a process that belongs to no worker is not touched", "[agent][watchdog]") {
  Setup setup;
  const Child foreign(Child::Leads::session);
  const Child ours(Child::Leads::nothing);  // in the launcher's session
  setup.watch();
  setup.write(line(foreign.pid(), "x", kPast) + line(ours.pid(), "x", kPast) +
              line(::getpid(), "x", kPast) + line(1, "x", kPast) +
              line(setup.worker.pid(), "last", kPast));
  setup.run_until_expired(1);
  CHECK(foreign.lives());
  CHECK(ours.lives());
  CHECK_THAT(setup.log.text(), Contains("belongs to no worker"));
}

TEST_CASE("a process that has ended sets no timer", "[agent][watchdog]") {
  Setup setup;
  setup.watch();
  Child dead(Child::Leads::nothing);
  const pid_t pid = dead.pid();
  dead.kill_and_wait();
  setup.write(line(pid, "x", kPast) + line(setup.worker.pid(), "last", kPast));
  setup.run_until_expired(1);
  CHECK_THAT(setup.log.text(), Contains("belongs to no worker, or has ended"));
}

TEST_CASE("each kind of bad line is told once", "[agent][watchdog]") {
  Setup setup;
  setup.watch();
  for (int i = 0; i < 3; ++i) {
    setup.write("no JSON\n{}\n" + line(setup.worker.pid(), "x", kPast, 1000) +
                std::string(TimerLines::kLongestLine, 'x') + "\n");
  }
  setup.write(line(setup.worker.pid(), "last", kPast));
  setup.run_until_expired(1);
  const std::string text = setup.log.text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
  CHECK_THAT(text, Contains("not JSON") && Contains("PIPE_BUF"));
  CHECK_THAT(text, Contains("lacks a key") && Contains("signal does not exist"));
}

TEST_CASE("timers do not survive an attempt, nor does what nobody has read", "[agent][watchdog]") {
  Setup setup;
  setup.watch();
  setup.write(line(setup.worker.pid(), "early", kPast) + "half a line");
  setup.watchdog->rest();
  setup.watch();
  setup.write(line(setup.worker.pid(), "late", kPast, SIGCONT));
  setup.run_until_expired(1);
  CHECK(setup.expired.front().scope == "late");
  CHECK(setup.log.text().empty());
  CHECK(setup.worker.lives());
}

TEST_CASE("a FIFO or file of ours is replaced by a private FIFO that goes at the end",
          "[agent][watchdog]") {
  tests::TempDir dir;
  tests::RecordedLog log;
  asio::io_context loop(1);
  const std::string path = dir.path() / "timers";
  SECTION("nothing was there") {}
  SECTION("a file was there") {
    dir.file("timers", "old");
  }
  SECTION("a FIFO was there") {
    REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
  }
  {
    const auto watchdog = Watchdog::open(loop.get_executor(), path, log.log());
    REQUIRE(watchdog);
    struct stat file {};
    REQUIRE(::lstat(path.c_str(), &file) == 0);
    CHECK(S_ISFIFO(file.st_mode));
    CHECK((file.st_mode & 0777) == 0600);
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a link, a folder or what is another user's in the place of the FIFO is left alone",
          "[agent][watchdog]") {
  tests::TempDir dir;
  tests::RecordedLog log;
  asio::io_context loop(1);
  const std::string path = dir.path() / "timers";
  SECTION("a link to a file of ours") {
    fs::create_symlink(dir.file("file", "text"), path);
  }
  SECTION("a folder") {
    fs::create_directory(path);
  }
  SECTION("a file of another user") {
    dir.file("timers", "text");
    if (::chown(path.c_str(), 1, 1) != 0) return;  // only root can make one
  }
  const auto watchdog = Watchdog::open(loop.get_executor(), path, log.log());
  REQUIRE_FALSE(watchdog);
  CHECK_THAT(watchdog.error().message(), Contains(path) && Contains("TORCHELASTIC_TIMER_FILE"));
  CHECK(fs::symlink_status(path).type() != fs::file_type::fifo);
}

TEST_CASE("a FIFO in a folder that is not there is a failure", "[agent][watchdog]") {
  tests::RecordedLog log;
  asio::io_context loop(1);
  const auto watchdog = Watchdog::open(loop.get_executor(), "/nowhere/timers", log.log());
  REQUIRE_FALSE(watchdog);
  CHECK(watchdog.error().code == std::errc::no_such_file_or_directory);
}

TEST_CASE("a FIFO that another one has replaced is left to its owner", "[agent][watchdog]") {
  tests::TempDir dir;
  tests::RecordedLog log;
  asio::io_context loop(1);
  const std::string path = dir.path() / "timers";
  auto first = Watchdog::open(loop.get_executor(), path, log.log());
  REQUIRE(first);
  const auto second = Watchdog::open(loop.get_executor(), path, log.log());
  REQUIRE(second);
  first->reset();
  CHECK(fs::exists(path));
}

}  // namespace
}  // namespace rankrun::agent
