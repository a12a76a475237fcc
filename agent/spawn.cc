// SPDX-License-Identifier: Apache-2.0
// Not Boost.Process v2: in 1.81 its child runs our exit handlers when the program cannot be
// executed, and its wait reaps, which frees the id of a group that may still have members.
#include "agent/spawn.h"

#include "agent/errc.h"
#include "agent/placement.h"
#include "agent/sweep.h"
#include "store/base/c_strings.h"
#include "store/base/pidfd.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rankrun::agent {

using base::failure;
using base::Result;
using base::UniqueFd;

namespace {

constexpr auto kMoreFiles = "raise the limit of open files (ulimit -n)";

// Everything the child needs, made before vfork: the child runs on our memory, so it may only call
// the system.
struct ChildPlan {
  const char* executable;
  char* const* arguments;
  char* const* environment;
  std::atomic<pid_t>* place;
  int cgroup;                // folder of the one to enter; -1: is in it
  const char* memory_procs;  // file of the one to enter; null: none
  Input input;
  const TerminalLoan* terminal;  // with Input::terminal
  int stdout_fd;
  int stderr_fd;
  const KernelPlacement* placement;  // null: ours
  int error_fd;
  pid_t parent;
  struct sigaction hangup;  // kept as we found it: nohup ignores it
};

// What the child was doing when it could not become the program.
enum class Step { entering_cgroup, binding_to_cpus, executing };

struct StartFailure {
  Step step;
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

// Gives 0, or what forbids it.
int enter_cgroup(int folder, const char* procs) {
  const int file = ::openat(folder, procs, O_WRONLY | O_CLOEXEC);
  return ::write(file, "0", 1) == 1 ? 0 : errno;  // 0 is the process that writes
}

// Everything between start and execution; the system's code for what fails.
StartFailure prepare(const ChildPlan& plan) {
  int error = plan.cgroup >= 0 ? enter_cgroup(plan.cgroup, "cgroup.procs") : 0;
  if (error == 0 && plan.memory_procs != nullptr) error = enter_cgroup(AT_FDCWD, plan.memory_procs);
  if (error != 0) return {Step::entering_cgroup, error};
  if (plan.placement != nullptr) error = plan.placement->apply();
  return {Step::binding_to_cpus, error};
}

[[noreturn]] void run_child(const ChildPlan& plan) {
  if (plan.terminal != nullptr) {
    plan.terminal->take_over();
  } else {
    ::setsid();
  }
  *plan.place = ::getpid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above took effect.
  if (::getppid() != plan.parent) ::_exit(127);
  open_input(plan);
  if (plan.stdout_fd >= 0) ::dup2(plan.stdout_fd, STDOUT_FILENO);
  if (plan.stderr_fd >= 0) ::dup2(plan.stderr_fd, STDERR_FILENO);
  close_on_exec_from(STDERR_FILENO + 1);
  reset_signals(plan.hangup);
  StartFailure failed = prepare(plan);
  if (failed.error == 0) {
    ::execve(plan.executable, plan.arguments, plan.environment);
    failed = {Step::executing, errno};
  }
  // The parent reads at least until end of file; a failed write shows as a start that "worked" and
  // an exit with 127.
  [[maybe_unused]] const auto written = ::write(plan.error_fd, &failed, sizeof failed);
  ::_exit(127);
}

// vfork, but the child is born in the cgroup of this folder: moving it there afterwards takes up to
// tens of milliseconds on kernels before 6.18. In line, since a call of the C library's wrapper
// would return twice on one stack. Gives the system's negative code.
[[gnu::always_inline]] inline long vfork_into(int cgroup) {
  [[maybe_unused]] clone_args arguments{};
  arguments.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<unsigned>(cgroup);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return -ENOSYS;  // they know vfork only
#elif defined(__x86_64__)
  long result = SYS_clone3;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(&arguments), "S"(sizeof arguments)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long number asm("x8") = SYS_clone3;
  register long result asm("x0") = reinterpret_cast<long>(&arguments);
  register long size asm("x1") = sizeof arguments;
  asm volatile("svc 0" : "+r"(result) : "r"(number), "r"(size) : "memory");
  return result;
#else
  return -ENOSYS;
#endif
}

// vfork, since copying our page tables and then our pages takes longer than all else about a start.
// A function of its own, called with all signals blocked: none of its variables may live in a
// register across vfork, and the child must not run our handlers on our memory.
[[gnu::noinline]] pid_t vfork_and_run(const ChildPlan& plan) {
  const pid_t pid = ::vfork();
  if (pid == 0) run_child(plan);
  return pid;
}

[[gnu::noinline]] long vfork_and_run_in(int cgroup, const ChildPlan& plan) {
  const long pid = vfork_into(cgroup);
  if (pid == 0) run_child(plan);
  return pid;
}

// Where a seccomp filter forbids clone3, as some container engines' do, the child moves itself.
pid_t start_child(ChildPlan plan, int cgroup) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  long pid = cgroup >= 0 ? vfork_and_run_in(cgroup, plan) : -ENOSYS;
  if (pid < 0) {
    plan.cgroup = cgroup;
    pid = vfork_and_run(plan);
  }
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return static_cast<pid_t>(pid);
}

base::Error explain(const StartFailure& failed, const std::string& executable) {
  const int error = failed.error;
  const std::string tried = "cannot start '" + executable + "'";
  if (failed.step == Step::entering_cgroup) {
    return {std::error_code(error, std::generic_category()),
            tried + " in its cgroup",
            "use --cgroup=off, and leave --memory-max out"};
  }
  if (failed.step == Step::binding_to_cpus) {
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

// Our mark goes behind that of the launch that we are part of, if any.
std::string mark_line(const std::vector<std::string>& environment, const std::string& mark) {
  std::string name(kMarkVariable);
  name += '=';
  for (const std::string& line : environment) {
    if (line.starts_with(name)) return fmt::format("{}:{}", line, mark);
  }
  return name + mark;
}

// The child's, with `mark` in it; both are borrowed.
std::vector<char*> marked(const std::vector<std::string>& environment, std::string& mark) {
  const std::size_t name_size = kMarkVariable.size() + 1;
  std::vector<char*> lines = base::c_strings(environment);
  std::erase_if(lines, [&](const char* line) {
    return line != nullptr && mark.compare(0, name_size, line, 0, name_size) == 0;
  });
  lines.insert(lines.end() - 1, mark.data());
  return lines;
}

std::optional<StartFailure> read_failure(int error_pipe) {
  StartFailure failed{};
  ssize_t received = 0;
  do {
    received = ::read(error_pipe, &failed, sizeof failed);
  } while (received < 0 && errno == EINTR);
  return received == static_cast<ssize_t>(sizeof failed) ? std::optional(failed) : std::nullopt;
}

Result<UniqueFd> open_pidfd(pid_t pid, const std::string& tried) {
  UniqueFd pidfd = base::open_pidfd(pid);
  if (pidfd) return pidfd;
  const int error = errno;
  return base::errno_failure(
      error, tried + ": pidfd_open", error == ENOSYS ? "Linux 5.4 or later is needed" : kMoreFiles);
}

}  // namespace

Result<Child> spawn(const ProcessSpec& spec, const Ties& ties, const TerminalLoan* terminal) {
  const std::string tried = "cannot start '" + spec.executable + "'";
  std::array<int, 2> error_pipe{};
  if (::pipe2(error_pipe.data(), O_CLOEXEC) != 0) {
    return base::errno_failure(errno, tried, kMoreFiles);
  }
  const UniqueFd read_end(error_pipe[0]);
  UniqueFd write_end(error_pipe[1]);

  const std::vector<char*> arguments = base::c_strings(spec.arguments);
  std::string mark = mark_line(spec.environment, ties.mark);
  const std::vector<char*> environment = marked(spec.environment, mark);
  const std::string memory_procs =
      ties.memory_cgroup ? (ties.memory_cgroup->path / "cgroup.procs").string() : "";
  std::optional<KernelPlacement> placement;
  if (spec.placement) placement.emplace(*spec.placement);
  ChildPlan plan{.executable = spec.executable.c_str(),
                 .arguments = arguments.data(),
                 .environment = environment.data(),
                 .place = ties.place,
                 .cgroup = -1,
                 .memory_procs = memory_procs.empty() ? nullptr : memory_procs.c_str(),
                 .input = spec.input,
                 .terminal = terminal,
                 .stdout_fd = spec.stdout_fd,
                 .stderr_fd = spec.stderr_fd,
                 .placement = placement ? &*placement : nullptr,
                 .error_fd = write_end.get(),
                 .parent = ::getpid(),
                 .hangup = {}};
  ::sigaction(SIGHUP, nullptr, &plan.hangup);
  const pid_t pid = start_child(plan, ties.cgroup);
  if (pid < 0) {
    return base::errno_failure(
        errno, tried, "raise the limit of processes (ulimit -u), or free memory");
  }
  write_end.reset();
  const auto failed = read_failure(read_end.get());
  auto pidfd = open_pidfd(pid, tried);
  if (!failed && pidfd) return Child{pid, *std::move(pidfd)};
  if (!failed) ::kill(-pid, SIGKILL);
  *ties.place = 0;
  ::waitpid(pid, nullptr, 0);
  return failure(failed ? explain(*failed, spec.executable) : std::move(pidfd.error()));
}

}  // namespace rankrun::agent
