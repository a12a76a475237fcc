// SPDX-License-Identifier: Apache-2.0
// Not Boost.Process v2: in 1.81 its child runs our exit handlers when the program cannot be
// executed, and its wait reaps, which frees the id of a group that may still have members.
#include "agent/process_posix.h"

#include "agent/errc.h"
#include "store/base/assert.h"
#include "store/base/async.h"
#include "store/base/c_strings.h"
#include "store/base/unique_fd.h"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

namespace rankrun::agent {

using base::failure;
using base::Result;
using base::UniqueFd;
namespace asio = boost::asio;

namespace {

constexpr auto kMoreFiles = "raise the limit of open files (ulimit -n)";

// Everything the child needs, made before fork: after it only async-signal-safe calls are allowed.
struct ChildPlan {
  const char* executable;
  char* const* arguments;
  char* const* environment;
  int stderr_fd;
  int error_fd;
  pid_t parent;
  struct sigaction hangup;  // kept as we found it: nohup ignores it
};

void close_on_exec_from(unsigned first) {
  if (::close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  constexpr unsigned kMostDescriptors = 20000;  // kernels before 5.11
  for (unsigned fd = first; fd < kMostDescriptors; ++fd) {
    ::fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);
  }
}

void reset_signals(const struct sigaction& hangup) {
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    ::sigaction(signal, signal == SIGHUP ? &hangup : &default_action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void run_child(const ChildPlan& plan) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above took effect.
  if (::getppid() != plan.parent) ::_exit(127);
  if (plan.stderr_fd >= 0) ::dup2(plan.stderr_fd, STDERR_FILENO);
  close_on_exec_from(STDERR_FILENO + 1);
  reset_signals(plan.hangup);
  ::execve(plan.executable, plan.arguments, plan.environment);
  const int error = errno;
  // The parent reads at least until end of file; a failed write shows as a start that "worked" and
  // an exit with 127.
  [[maybe_unused]] const auto written = ::write(plan.error_fd, &error, sizeof error);
  ::_exit(127);
}

base::Error explain_exec_failure(int error, const std::string& executable) {
  const std::string tried = "cannot start '" + executable + "'";
  if (error == ENOENT || error == ENOTDIR) {
    return {errc::program_not_found, tried, "check the path, and the #! line if it is a script"};
  }
  if (error == EACCES || error == EPERM) {
    return {errc::program_not_executable, tried, "check its permissions (chmod +x)"};
  }
  if (error == ENOEXEC) {
    return {errc::program_not_executable, tried, "is it a script without a #! line?"};
  }
  if (error == E2BIG) {
    return {std::make_error_code(std::errc::argument_list_too_long),
            tried,
            "shorten the arguments or the environment"};
  }
  return {std::error_code(error, std::generic_category()), tried, {}};
}

ExitStatus decode(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return ExitStatus::exited(info.si_status);
  return ExitStatus::signaled(info.si_status, info.si_code == CLD_DUMPED);
}

// Whether the process behind this file, /proc/PID/stat, is of the group and not a zombie.
bool is_live_member(const std::string& stat_file, pid_t group) {
  std::ifstream file(stat_file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = text.rfind(')');  // the name may hold anything, brackets included
  if (name_end == std::string::npos) return false;
  std::istringstream fields(text.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  pid_t its_group = 0;
  fields >> state >> parent >> its_group;
  return its_group == group && state != 'Z' && state != 'X';
}

// Zombies count as gone: where init does not reap, as in some containers, they stay for ever.
bool has_live_member(pid_t group) {
  if (::kill(-group, 0) != 0 && errno == ESRCH) return false;
  std::error_code ignored;  // a process that ends meanwhile
  auto entry = std::filesystem::directory_iterator("/proc", ignored);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    const bool is_process =
        std::isdigit(static_cast<unsigned char>(entry->path().filename().c_str()[0])) != 0;
    if (is_process && is_live_member((entry->path() / "stat").string(), group)) return true;
  }
  return false;
}

class PosixProcess final : public Process {
 public:
  PosixProcess(const asio::any_io_executor& executor, pid_t pid, UniqueFd pidfd)
      : pid_(pid), exit_(executor, pidfd.release()) {}
  ~PosixProcess() override {
    // Not ended in order: an early return while starting, or an exception. Leave nothing behind.
    // One that outlived SIGKILL is not waited for again.
    if (ended_ || stuck_) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  PosixProcess(const PosixProcess&) = delete;
  PosixProcess& operator=(const PosixProcess&) = delete;

  pid_t pid() const override { return pid_; }

  asio::awaitable<ExitStatus> wait_exit() override {
    // A pidfd becomes readable when its process ends.
    while (!observe_exit()) {
      co_await exit_.async_wait(asio::posix::stream_descriptor::wait_read, base::kUseTuple);
    }
    co_return *status_;
  }

  void signal_group(int signal) override {
    if (!ended_) ::kill(-pid_, signal);
  }

  asio::awaitable<Result<void>> end_group(base::TimePoint deadline) override;

 private:
  bool observe_exit();
  bool reap_group();

  pid_t pid_;
  asio::posix::stream_descriptor exit_;  // pidfd of the leader
  std::optional<ExitStatus> status_;     // of the leader, once it has exited
  bool reaped_ = false;                  // the leader
  bool ended_ = false;                   // the whole group is gone
  bool stuck_ = false;                   // something of it outlived SIGKILL
};

// True when the leader has exited; it stays a zombie (WNOWAIT).
bool PosixProcess::observe_exit() {
  if (status_) return true;
  siginfo_t info{};
  const int rc = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  RANKRUN_ASSERT(rc == 0);  // our unreaped child: it cannot be gone
  if (info.si_pid == 0) return false;
  status_ = decode(info);
  return true;
}

// Reaps the leader once it has exited; true when nothing of the group lives any more.
bool PosixProcess::reap_group() {
  if (!observe_exit()) return false;
  if (!reaped_) ::waitpid(pid_, nullptr, 0);
  reaped_ = true;
  return !has_live_member(pid_);
}

asio::awaitable<Result<void>> PosixProcess::end_group(base::TimePoint deadline) {
  if (ended_) co_return Result<void>();
  ::kill(-pid_, SIGKILL);
  // No notification exists for the end of a whole group: look again, soon at first.
  base::Duration pause = std::chrono::microseconds(100);
  constexpr base::Duration kLongestPause = std::chrono::milliseconds(10);
  asio::steady_timer timer(exit_.get_executor());
  while (!reap_group()) {
    if (base::Clock::now() >= deadline) {
      stuck_ = true;
      co_return failure(errc::workers_stuck,
                        "process group " + std::to_string(pid_),
                        "look at its processes' state in ps");
    }
    timer.expires_after(pause);
    co_await timer.async_wait(base::kUseTuple);
    pause = std::min(2 * pause, kLongestPause);
  }
  ended_ = true;
  co_return Result<void>();
}

}  // namespace

PosixProcessRunner::PosixProcessRunner(asio::any_io_executor executor)
    : executor_(std::move(executor)) {
  // A parent that ignores SIGCHLD would have the kernel throw exit codes away.
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &default_action, nullptr);
}

Result<std::unique_ptr<Process>> PosixProcessRunner::start(const ProcessSpec& spec) {
  const std::string tried = "cannot start '" + spec.executable + "'";
  std::array<int, 2> error_pipe{};
  if (::pipe2(error_pipe.data(), O_CLOEXEC) != 0) {
    return base::errno_failure(errno, tried, kMoreFiles);
  }
  UniqueFd read_end(error_pipe[0]);
  UniqueFd write_end(error_pipe[1]);

  const std::vector<char*> arguments = base::c_strings(spec.arguments);
  const std::vector<char*> environment = base::c_strings(spec.environment);
  ChildPlan plan{.executable = spec.executable.c_str(),
                 .arguments = arguments.data(),
                 .environment = environment.data(),
                 .stderr_fd = spec.stderr_fd,
                 .error_fd = write_end.get(),
                 .parent = ::getpid(),
                 .hangup = {}};
  ::sigaction(SIGHUP, nullptr, &plan.hangup);
  const pid_t pid = ::fork();
  if (pid == 0) run_child(plan);
  if (pid < 0) return base::errno_failure(errno, tried, "raise the limit of processes (ulimit -u)");
  write_end.reset();

  int exec_error = 0;
  ssize_t received = 0;
  do {
    received = ::read(read_end.get(), &exec_error, sizeof exec_error);
  } while (received < 0 && errno == EINTR);
  if (received == static_cast<ssize_t>(sizeof exec_error)) {
    ::waitpid(pid, nullptr, 0);
    return failure(explain_exec_failure(exec_error, spec.executable));
  }
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) {
    const int error = errno;
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return base::errno_failure(error,
                               tried + ": pidfd_open",
                               error == ENOSYS ? "Linux 5.4 or later is needed" : kMoreFiles);
  }
  return std::make_unique<PosixProcess>(executor_, pid, std::move(pidfd));
}

}  // namespace rankrun::agent
