// SPDX-License-Identifier: Apache-2.0
#include "agent/process_posix.h"

#include "agent/errc.h"
#include "agent/kernel_files.h"
#include "tests/support/pipe.h"
#include "tests/support/run_loop.h"
#include "tests/support/silent_log.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;

base::TimePoint soon() {
  return base::Clock::now() + std::chrono::seconds(20);
}

ProcessSpec shell(const std::string& script) {
  ProcessSpec spec;
  spec.executable = "/bin/sh";
  spec.arguments = {"sh", "-c", "exec >&2; " + script};
  spec.environment = {"PATH=/usr/bin:/bin", "GREETING=hello"};
  return spec;
}

struct Run {
  ExitStatus status = ExitStatus::exited(-1);
  std::string output;
};

asio::awaitable<void> run_to_end(PosixProcessRunner& runner, ProcessSpec spec, Run& run) {
  tests::Pipe pipe;
  spec.stderr_fd = pipe.write_end.get();
  auto process = runner.start(spec);
  REQUIRE(process);
  run.status = co_await (*process)->wait_exit();
  const auto ended = co_await runner.end_all(soon());
  CHECK(ended);
  run.output = pipe.read_available();
}

// A runner and what it needs, of one kind of containment.
struct Host {
  explicit Host(CgroupUse use = CgroupUse::automatic)
      : containment(Containment::create(use, true, tests::silent_log()).value()) {}

  asio::io_context loop{1};
  Containment containment;
  PosixProcessRunner runner{loop.get_executor(), containment};
};

Run run(const ProcessSpec& spec) {
  Host host;
  Run result;
  tests::run_loop(host.loop, run_to_end(host.runner, spec, result));
  return result;
}

TEST_CASE("exit 9 and death by signal 9 stay different", "[agent][process]") {
  CHECK(run(shell("exit 9")).status == ExitStatus::exited(9));
  CHECK(run(shell("kill -9 $$")).status == ExitStatus::signaled(9, false));
  CHECK(run(shell("true")).status.success());
}

TEST_CASE("a process gets its arguments and environment and nothing else", "[agent][process]") {
  CHECK(run(shell("echo $0 $GREETING; env | grep -c =")).output == "sh hello\n4\n");
}

TEST_CASE("a process leads its own session", "[agent][process]") {
  // Fields 5 and 6 of stat are process group and session.
  CHECK(run(shell("set -- $(cat /proc/$$/stat); [ $5 = $$ ] && [ $6 = $$ ] && echo yes")).output ==
        "yes\n");
}

TEST_CASE("a process does not inherit our descriptors", "[agent][process]") {
  const base::UniqueFd leak(::open("/dev/null", O_RDONLY));  // without close-on-exec
  REQUIRE(leak);
  CHECK(
      run(shell("[ -e /proc/self/fd/" + std::to_string(leak.get()) + " ] || echo closed")).output ==
      "closed\n");
}

TEST_CASE("a process starts with default signals, none of them blocked", "[agent][process]") {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before {};
  ::sigaction(SIGPIPE, &ignore, &before);
  sigset_t blocked;
  sigset_t mask_before;
  sigfillset(&blocked);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &mask_before);
  const Run result = run(shell("grep -E '^Sig(Blk|Ign)' /proc/self/status"));
  ::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
  CHECK(result.output == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

// Whether there is such a process, and not as a zombie.
bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.at(name_end + 2) != 'Z';
}

asio::awaitable<void> end_leftovers(PosixProcessRunner& runner, pid_t& child) {
  tests::Pipe pipe;
  ProcessSpec spec = shell("sleep 1000 & echo $!; exit 0");
  spec.stderr_fd = pipe.write_end.get();
  auto process = runner.start(spec);
  REQUIRE(process);
  const ExitStatus status = co_await (*process)->wait_exit();
  CHECK(status.success());
  child = std::stoi(pipe.read_available());
  CHECK(is_alive(child));
  const auto ended = co_await runner.end_all(soon());
  CHECK(ended);
}

TEST_CASE("ending a group ends the children that its leader left behind", "[agent][process]") {
  Host host;
  pid_t child = 0;
  tests::run_loop(host.loop, end_leftovers(host.runner, child));
  REQUIRE(child > 0);
  CHECK_FALSE(is_alive(child));
}

asio::awaitable<void> signal_group(PosixProcessRunner& runner) {
  tests::Pipe pipe;
  ProcessSpec spec = shell("trap 'exit 42' TERM; echo ready; while :; do sleep 0.01; done");
  spec.stderr_fd = pipe.write_end.get();
  auto process = runner.start(spec);
  REQUIRE(process);
  char byte = 0;
  REQUIRE(::read(pipe.read_end.get(), &byte, 1) == 1);  // its trap is set
  (*process)->signal_group(SIGTERM);
  const ExitStatus status = co_await (*process)->wait_exit();
  CHECK(status == ExitStatus::exited(42));
  const auto ended = co_await runner.end_all(soon());
  CHECK(ended);
}

// A process that SIGKILL does not end: the kernel has frozen it (version 1 of cgroups).
class Freezer {
 public:
  Freezer() {
    ::mkdir(path_.c_str(), 0755);
    is_there_ = ::access((path_ / "freezer.state").c_str(), W_OK) == 0;
  }
  ~Freezer() { ::rmdir(path_.c_str()); }
  Freezer(const Freezer&) = delete;
  Freezer& operator=(const Freezer&) = delete;

  bool missing() const {
    if (!is_there_) std::puts("SKIPPED: no freezer of version 1 of cgroups here");
    return !is_there_;
  }
  void freeze(pid_t pid) const {
    REQUIRE(write_kernel_file(path_ / "cgroup.procs", std::to_string(pid)));
    REQUIRE(write_kernel_file(path_ / "freezer.state", "FROZEN"));
    while (read_kernel_file(path_ / "freezer.state") != "FROZEN") {
    }
  }
  void thaw() const { REQUIRE(write_kernel_file(path_ / "freezer.state", "THAWED")); }

 private:
  std::filesystem::path path_ = "/sys/fs/cgroup/freezer/rankrun-test-" + std::to_string(::getpid());
  bool is_there_ = false;
};

asio::awaitable<void> end_frozen(PosixProcessRunner& runner, const Freezer& freezer) {
  auto process = runner.start(shell("sleep 1000"));
  REQUIRE(process);
  const std::string pid = std::to_string((*process)->pid());
  freezer.freeze((*process)->pid());
  const auto stuck = co_await runner.end_all(base::Clock::now() + std::chrono::milliseconds(50));
  CHECK_FALSE(stuck);
  if (stuck) co_return;
  CHECK(stuck.error().code == errc::workers_stuck);
  CHECK_THAT(stuck.error().message(),
             Catch::Contains("process " + pid + " (") && Catch::Contains("uninterruptible"));
  freezer.thaw();
  const auto ended = co_await runner.end_all(soon());
  CHECK(ended);
}

TEST_CASE("what outlives SIGKILL is named with its state in the kernel", "[agent][process]") {
  const Freezer freezer;
  if (freezer.missing()) return;
  Host host(GENERATE(CgroupUse::off, CgroupUse::automatic));
  tests::run_loop(host.loop, end_frozen(host.runner, freezer));
}

asio::awaitable<void> end_limited(PosixProcessRunner& runner) {
  ProcessSpec spec = shell("exit 1");
  spec.memory_max = std::uint64_t{64} << 20;
  auto process = runner.start(spec);
  if (!process) {
    std::printf("SKIPPED: %s\n", process.error().message().c_str());
    co_return;
  }
  co_await (*process)->wait_exit();
  CHECK_FALSE((*process)->memory_kill());
  const auto ended = co_await runner.end_all(soon());
  CHECK(ended);
  CHECK_FALSE((*process)->memory_kill());
}

TEST_CASE("a cgroup that is gone tells of no lack of memory", "[agent][process]") {
  Host host;
  tests::run_loop(host.loop, end_limited(host.runner));
}

TEST_CASE("a signal reaches the group", "[agent][process]") {
  Host host;
  tests::run_loop(host.loop, signal_group(host.runner));
}

TEST_CASE("a process that nobody ended is gone with its owner", "[agent][process]") {
  Host host;
  pid_t pid = 0;
  {
    auto process = host.runner.start(shell("sleep 1000"));
    REQUIRE(process);
    pid = (*process)->pid();
  }
  CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("a process reads our input or nothing, and writes where it is told", "[agent][process]") {
  tests::Pipe output;
  ProcessSpec spec = shell("");
  spec.arguments.back() = "readlink /proc/self/fd/0; echo to stderr >&2";
  spec.stdout_fd = output.write_end.get();
  spec.input = Input::nothing;
  CHECK(run(spec).output == "to stderr\n");
  CHECK(output.read_available() == "/dev/null\n");
}

TEST_CASE("a program that cannot be started is an error and not a process", "[agent][process]") {
  const tests::TempDir dir;
  Host host;
  const auto start = [&host](const std::string& executable) {
    ProcessSpec spec;
    spec.executable = executable;
    spec.arguments = {executable};
    auto process = host.runner.start(spec);
    REQUIRE_FALSE(process);
    return process.error();
  };
  const auto mode = std::filesystem::perms(0755);
  CHECK(start(dir.path() / "nowhere").code == errc::program_not_found);
  CHECK(start(dir.file("lost", "#!/nonexistent/interpreter\n", mode)).code ==
        errc::program_not_found);
  CHECK(start(dir.file("plain", "")).code == errc::program_not_executable);
  CHECK(start(dir.path()).code == errc::program_not_executable);
  const auto no_header = start(dir.file("text", "echo no #! line\n", mode));
  CHECK(no_header.code == errc::program_not_executable);
  CHECK_THAT(no_header.message(), Catch::Contains("#!"));
}

}  // namespace
}  // namespace rankrun::agent
