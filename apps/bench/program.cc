// SPDX-License-Identifier: Apache-2.0
// Not agent/process_posix.h: what rankrun is measured against must cost nothing but the system
// calls.
#include "apps/bench/program.h"

#include "apps/bench/wait.h"
#include "store/base/c_strings.h"
#include "store/base/pidfd.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

namespace rankrun::bench {

using base::Clock;
using base::Duration;
using base::failure;
using base::Result;
using base::TimePoint;
using base::UniqueFd;

namespace {

// Both launchers end sleeping workers at once; the time is for a machine that is busy.
constexpr Duration kStopLimit = std::chrono::seconds(10);
constexpr std::size_t kPipeSize = std::size_t{64} << 10;

// What the child needs, made before vfork.
struct ChildPlan {
  char* const* words;
  char* const* environment;
  int null_fd;
  int stdout_fd;
  pid_t parent;
  volatile int exec_error;  // the child runs on our memory, so it can tell us
};

// The child, between vfork and exec: system calls only.
[[noreturn]] void become(ChildPlan& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != plan.parent) ::_exit(127);  // died before the line above took effect
  ::dup2(plan.null_fd, STDIN_FILENO);
  ::dup2(plan.stdout_fd, STDOUT_FILENO);
  ::dup2(plan.null_fd, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.words[0], plan.words, plan.environment);
  plan.exec_error = errno;
  ::_exit(127);
}

// A function of its own: none of its variables may live in a register across vfork.
[[gnu::noinline]] pid_t vfork_and_become(ChildPlan& plan) {
  const pid_t pid = ::vfork();
  if (pid == 0) become(plan);
  return pid;
}

Duration to_duration(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

Result<Program> Program::start(const Command& command) {
  const std::string& name = command.words.front();
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return base::errno_failure(errno, "cannot open /dev/null");
  const std::vector<char*> words = base::c_strings(command.words);
  const std::vector<char*> environment = base::c_strings(command.environment);
  ChildPlan plan{.words = words.data(),
                 .environment = environment.data(),
                 .null_fd = null.get(),
                 .stdout_fd = command.stdout_fd >= 0 ? command.stdout_fd : null.get(),
                 .parent = ::getpid(),
                 .exec_error = 0};
  const TimePoint started = Clock::now();
  const pid_t pid = vfork_and_become(plan);
  if (pid < 0) return base::errno_failure(errno, fmt::format("cannot start '{}'", name));
  // A child of ours keeps its id until we reap it, so this is surely that child.
  Program program(pid, started, base::open_pidfd(pid));
  if (plan.exec_error != 0) {
    return base::errno_failure(plan.exec_error, fmt::format("cannot start '{}'", name));
  }
  if (!program.pidfd_) return base::errno_failure(errno, "cannot open a pidfd");
  return program;
}

Program::Program(pid_t pid, TimePoint started, UniqueFd pidfd)
    : pid_(pid), started_(started), pidfd_(std::move(pidfd)) {}

Program::Program(Program&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      started_(other.started_),
      pidfd_(std::move(other.pidfd_)) {}

Program::~Program() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  if (!wait_undisturbed(pidfd_.get(), Clock::now() + kStopLimit)) ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Duration Program::own_cpu() const {
  clockid_t clock{};
  timespec time{};
  ::clock_getcpuclockid(pid_, &clock);
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Result<Finished> Program::wait(TimePoint deadline) {
  if (auto ended = wait_readable(pidfd_.get(), deadline); !ended) {
    return failure(ended.error().within(fmt::format("waiting for the end of process {}", pid_)));
  }
  Finished finished;
  rusage usage{};
  ::wait4(pid_, &finished.wait_status, 0, &usage);
  finished.at = Clock::now();
  finished.cpu = to_duration(usage.ru_utime) + to_duration(usage.ru_stime);
  pid_ = -1;
  return finished;
}

Result<void> require_end(const Command& command, const Finished& finished) {
  const int status = finished.wait_status;
  if (WIFEXITED(status) && WEXITSTATUS(status) == command.exit_code) return {};
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("was killed by signal {}", WTERMSIG(status))
                              : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  return failure(
      {}, fmt::format("'{}' {}", command.words.front(), how), "run it by hand to see what it says");
}

Result<RunCost> run_together(const std::vector<Command>& commands, Duration limit) {
  std::vector<Program> programs;
  programs.reserve(commands.size());
  for (const Command& command : commands) {
    Result<Program> program = Program::start(command);
    if (!program) return failure(std::move(program.error()));
    programs.push_back(std::move(*program));
  }
  const TimePoint started = programs.front().started();
  RunCost cost{};
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Result<Finished> finished = programs[i].wait(started + limit);
    if (!finished) return failure(finished.error().within(commands[i].words.front()));
    if (auto ended = require_end(commands[i], *finished); !ended) {
      return failure(std::move(ended.error()));
    }
    cost.wall = std::max(cost.wall, finished->at - started);
    cost.cpu += finished->cpu;
  }
  return cost;
}

Result<std::string> output_of(Command command, Duration limit) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::errno_failure(errno, "cannot make a pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  command.stdout_fd = write_end.get();
  // What it writes fits into the pipe, so it can be read after the end.
  const Result<RunCost> ran = run_together({command}, limit);
  if (!ran) return failure(ran.error());
  write_end.reset();
  std::string text(kPipeSize, '\0');
  const ssize_t size = ::read(read_end.get(), text.data(), text.size());
  if (size < 0) return base::errno_failure(errno, "cannot read from a pipe");
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace rankrun::bench
