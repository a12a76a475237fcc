// SPDX-License-Identifier: Apache-2.0
// Not Boost.Process v2: in 1.81 its child runs our exit handlers when the program cannot be
// executed, and its wait reaps, which frees the id of a group that may still have members.
#include "agent/process_posix.h"

#include "agent/errc.h"
#include "agent/placement.h"
#include "agent/process_table.h"
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
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

namespace rankrun::agent {

using base::failure;
using base::Result;
using base::UniqueFd;
namespace asio = boost::asio;

namespace {

constexpr auto kMoreFiles = "raise the limit of open files (ulimit -n)";

// Everything the child needs, made before vfork: the child runs on our memory, so it may only call
// the system.
struct ChildPlan {
  const char* executable;
  char* const* arguments;
  char* const* environment;
  Input input;
  const TerminalLoan* terminal;  // with Input::terminal
  int stdout_fd;
  int stderr_fd;
  const KernelPlacement* placement;  // null: ours
  int error_fd;
  pid_t parent;
  struct sigaction hangup;  // kept as we found it: nohup ignores it
};

// What the child tells its parent when it cannot become the program.
struct StartFailure {
  bool binding;  // to CPUs, before the program was tried
  int error;
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

// Without a null device the worker gets an error when it reads, but never our input.
void open_input(const ChildPlan& plan) {
  if (plan.input != Input::nothing) return;
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) ::close(STDIN_FILENO);
  ::dup2(null, STDIN_FILENO);
}

[[noreturn]] void run_child(const ChildPlan& plan) {
  if (plan.terminal != nullptr) {
    plan.terminal->take_over();
  } else {
    ::setsid();
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above took effect.
  if (::getppid() != plan.parent) ::_exit(127);
  open_input(plan);
  if (plan.stdout_fd >= 0) ::dup2(plan.stdout_fd, STDOUT_FILENO);
  if (plan.stderr_fd >= 0) ::dup2(plan.stderr_fd, STDERR_FILENO);
  close_on_exec_from(STDERR_FILENO + 1);
  reset_signals(plan.hangup);
  StartFailure failed{.binding = true, .error = 0};
  if (plan.placement != nullptr) failed.error = plan.placement->apply();
  if (failed.error == 0) {
    ::execve(plan.executable, plan.arguments, plan.environment);
    failed = {.binding = false, .error = errno};
  }
  // The parent reads at least until end of file; a failed write shows as a start that "worked" and
  // an exit with 127.
  [[maybe_unused]] const auto written = ::write(plan.error_fd, &failed, sizeof failed);
  ::_exit(127);
}

// vfork, since copying our page tables and then our pages takes longer than all else about a start.
// A function of its own: none of its variables may live in a register across vfork. No signal may
// come in between: the child would run our handler on our memory.
[[gnu::noinline]] pid_t vfork_and_run(const ChildPlan& plan) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();
  if (pid == 0) run_child(plan);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

base::Error explain(const StartFailure& failed, const std::string& executable) {
  const int error = failed.error;
  const std::string tried = "cannot start '" + executable + "'";
  if (failed.binding) {
    return {std::error_code(error, std::generic_category()),
            tried + " on its CPUs",
            "leave --numa-binding out, or see what CPUs this process may use (taskset -p $$)"};
  }
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

class PosixProcess final : public Process {
 public:
  PosixProcess(const asio::any_io_executor& executor, Children& children, pid_t pid, UniqueFd pidfd)
      : children_(children), pid_(pid), exit_(executor, pidfd.release()) {
    children_.unreaped.insert(pid);
  }
  ~PosixProcess() override {
    // Not ended in order: an early return while starting, or an exception. Leave nothing behind.
    // One that outlived SIGKILL is not waited for again.
    if (ended_ || stuck_) return;
    ::kill(-pid_, SIGKILL);
    reap();
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

  void signal_group(int signal) override;

  asio::awaitable<Result<void>> end_group(base::TimePoint deadline) override;

 private:
  bool observe_exit();
  bool reap_group(base::TimePoint since);
  void reap();

  Children& children_;  // of the runner, which outlives its processes
  pid_t pid_;
  asio::posix::stream_descriptor exit_;       // pidfd of the leader
  std::optional<ExitStatus> status_;          // of the leader, once it has exited
  std::optional<base::TimePoint> killed_at_;  // the whole group, for the first time
  bool reaped_ = false;                       // the leader
  bool ended_ = false;                        // the whole group is gone
  bool stuck_ = false;                        // something of it outlived SIGKILL
};

void PosixProcess::signal_group(int signal) {
  if (ended_) return;
  ::kill(-pid_, signal);
  if (signal == SIGKILL && !killed_at_) killed_at_ = base::Clock::now();
}

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

// Reaps the leader once it has exited; true when nothing of the group lived at some time after
// `since`. Once killed, it gets no new members.
bool PosixProcess::reap_group(base::TimePoint since) {
  if (!observe_exit()) return false;
  reap();
  const bool no_member = ::kill(-pid_, 0) != 0 && errno == ESRCH;
  return no_member || !children_.live_groups.contains(pid_, since);
}

void PosixProcess::reap() {
  if (reaped_) return;
  ::waitpid(pid_, nullptr, 0);
  reaped_ = true;
  children_.unreaped.erase(pid_);
  if (children_.terminal && children_.terminal->borrower() == pid_) children_.terminal.reset();
}

asio::awaitable<Result<void>> PosixProcess::end_group(base::TimePoint deadline) {
  if (ended_) co_return Result<void>();
  signal_group(SIGKILL);
  // No notification exists for the end of a whole group: look again, soon at first. For the first
  // look what another group's last one has seen will do.
  base::TimePoint since = *killed_at_;
  base::Duration pause = std::chrono::microseconds(100);
  constexpr base::Duration kLongestPause = std::chrono::milliseconds(10);
  asio::steady_timer timer(exit_.get_executor());
  while (!reap_group(since)) {
    if (base::Clock::now() >= deadline) {
      stuck_ = true;
      co_return failure(errc::workers_stuck,
                        "process group " + std::to_string(pid_),
                        "look at its processes' state in ps");
    }
    timer.expires_after(pause);
    co_await timer.async_wait(base::kUseTuple);
    pause = std::min(2 * pause, kLongestPause);
    since = base::Clock::now();
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
  if (spec.input == Input::terminal) children_.terminal.emplace();

  const std::vector<char*> arguments = base::c_strings(spec.arguments);
  const std::vector<char*> environment = base::c_strings(spec.environment);
  std::optional<KernelPlacement> placement;
  if (spec.placement) placement.emplace(*spec.placement);
  ChildPlan plan{.executable = spec.executable.c_str(),
                 .arguments = arguments.data(),
                 .environment = environment.data(),
                 .input = spec.input,
                 .terminal = spec.input == Input::terminal ? &*children_.terminal : nullptr,
                 .stdout_fd = spec.stdout_fd,
                 .stderr_fd = spec.stderr_fd,
                 .placement = placement ? &*placement : nullptr,
                 .error_fd = write_end.get(),
                 .parent = ::getpid(),
                 .hangup = {}};
  ::sigaction(SIGHUP, nullptr, &plan.hangup);
  const pid_t pid = vfork_and_run(plan);
  if (pid < 0) {
    return base::errno_failure(
        errno, tried, "raise the limit of processes (ulimit -u), or free memory");
  }
  write_end.reset();
  if (plan.terminal != nullptr) children_.terminal->set_borrower(pid);

  StartFailure failed{};
  ssize_t received = 0;
  do {
    received = ::read(read_end.get(), &failed, sizeof failed);
  } while (received < 0 && errno == EINTR);
  if (received == static_cast<ssize_t>(sizeof failed)) {
    ::waitpid(pid, nullptr, 0);
    return failure(explain(failed, spec.executable));
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
  return std::make_unique<PosixProcess>(executor_, children_, pid, std::move(pidfd));
}

void PosixProcessRunner::on_child_signal() {
  if (children_.terminal) children_.terminal->follow_stop();
  if (::getpid() != 1) return;
  for_each_process("/proc", [this](const ProcessEntry& entry) {
    const bool is_orphan = entry.parent == 1 && !children_.unreaped.contains(entry.pid);
    if (is_orphan && entry.is_zombie) ::waitpid(entry.pid, nullptr, WNOHANG);
  });
}

}  // namespace rankrun::agent
