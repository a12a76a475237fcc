// SPDX-License-Identifier: Apache-2.0
#include "agent/keeper.h"

#include "agent/kernel_files.h"
#include "agent/precedence.h"
#include "agent/process_table.h"
#include "store/base/async.h"
#include "store/base/clock.h"
#include "store/base/pidfd.h"

#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rankrun::agent {

using base::Result;
using base::UniqueFd;
namespace asio = boost::asio;

namespace {

// What SIGKILL does not end by then will not be helped by more of them.
constexpr base::Duration kPatience = std::chrono::minutes(10);
constexpr base::Duration kFirstPause = std::chrono::microseconds(100);
constexpr base::Duration kLongestPause = std::chrono::milliseconds(100);

// Addresses in our memory, that procfs tells.
struct Area {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;

  void fill(const std::string& text) const {
    if (start >= end) return;
    auto* const place = reinterpret_cast<char*>(start);  // NOLINT(performance-no-int-to-ptr)
    std::fill(place, place + (end - start), '\0');
    std::copy_n(text.data(), std::min<std::size_t>(text.size(), end - start - 1), place);
  }
};

// Has `ps` show this command line, and no environment: a launch that we are part of would find its
// mark there.
void set_command_line(const std::string& text) {
  const std::string stat = read_kernel_file("/proc/self/stat").value_or("");
  std::istringstream fields(stat.substr(std::min(stat.rfind(')'), stat.size())));
  std::string skipped;
  constexpr int kFieldsBefore = 46;  // the end of field 2 to field 47
  for (int i = 0; i < kFieldsBefore; ++i) {
    fields >> skipped;
  }
  Area arguments;
  Area environment;
  fields >> arguments.start >> arguments.end >> environment.start >> environment.end;
  if (!fields) return;
  arguments.fill(text);
  environment.fill("");
}

// Drops what we have read of our program and its libraries from memory: it comes back page by page
// as we need it, and all we need is to wait.
void forget_code() {
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void*) {
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& part = object->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
          const std::uintptr_t start = (object->dlpi_addr + part.p_vaddr) / page * page;
          const std::uintptr_t end = object->dlpi_addr + part.p_vaddr + part.p_memsz;
          auto* const place = reinterpret_cast<void*>(start);  // NOLINT(performance-no-int-to-ptr)
          ::madvise(place, end - start, MADV_DONTNEED);
        }
        return 0;
      },
      nullptr);
}

void close_all() {
  if (::close_range(0, ~0U, 0) == 0) return;
  constexpr int kMostDescriptors = 20000;  // kernels before 5.9
  for (int fd = 0; fd < kMostDescriptors; ++fd) {
    ::close(fd);
  }
}

// From all that could end us with the agent: its session, its signals, its name (killall, pkill
// -f), its descriptors, and the folder it was started in.
void detach(pid_t agent) {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  take_precedence();
  ::prctl(PR_SET_NAME, "keeper");
  set_command_line("keeper of job " + std::to_string(agent));
  close_all();
  [[maybe_unused]] const int rc = ::chdir("/");
  forget_code();
}

void wait_for_end(pid_t agent) {
  const UniqueFd pidfd = base::open_pidfd(agent);
  pollfd watched{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  // It may have died before its number was looked up.
  if (::getppid() != agent) return;
  ::poll(&watched, 1, -1);  // no signal interrupts it: all are blocked
}

// Workers are nobody's children any more: once they are reaped, their numbers may come to mean
// processes that started after `agent_end`, in clock ticks since boot.
Remains remains_after(std::uint64_t agent_end, const SharedMarks& marks) {
  Remains remains = marks.remains();
  std::erase_if(remains.marks.leaders, [agent_end](pid_t leader) {
    const auto process = find_process("/proc", leader);
    return process && process->started > agent_end;
  });
  return remains;
}

std::uint64_t ticks_since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  constexpr std::uint64_t kNanoseconds = 1'000'000'000;
  return static_cast<std::uint64_t>(now.tv_sec) * per_second +
         static_cast<std::uint64_t>(now.tv_nsec) * per_second / kNanoseconds;
}

[[noreturn]] void keep(const SharedMarks& marks, pid_t agent) {
  detach(agent);
  wait_for_end(agent);
  const std::uint64_t agent_end = ticks_since_boot();
  const base::TimePoint deadline = base::Clock::now() + kPatience;
  base::Duration pause = kFirstPause;
  for (int round = 0; !end_round(remains_after(agent_end, marks), round).empty(); ++round) {
    if (base::Clock::now() >= deadline) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
  remove_cgroups(marks.remains());
  ::_exit(0);
}

}  // namespace

Result<Keeper> Keeper::start(asio::any_io_executor executor, const SharedMarks& marks) {
  const pid_t agent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) keep(marks, agent);
  const std::string tried = "cannot start the keeper";
  if (pid < 0) {
    return base::errno_failure(errno, tried, "raise the limit of processes (ulimit -u)");
  }
  UniqueFd pidfd = base::open_pidfd(pid);
  if (!pidfd) {
    const int error = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return base::errno_failure(error, tried, "raise the limit of open files (ulimit -n)");
  }
  return Keeper(marks, pid, asio::posix::stream_descriptor(executor, pidfd.release()));
}

Keeper::Keeper(const SharedMarks& marks, pid_t pid, asio::posix::stream_descriptor exit)
    : marks_(&marks), pid_(pid), exit_(std::move(exit)) {}

Keeper::Keeper(Keeper&& other) noexcept
    : marks_(other.marks_),
      pid_(other.pid_),
      exit_(std::move(other.exit_)),
      dismissed_(std::exchange(other.dismissed_, false)) {}

Keeper::~Keeper() {
  if (dismissed_) ::waitpid(pid_, nullptr, 0);
}

void Keeper::dismiss() {
  if (marks_->has_leaders()) return;
  dismissed_ = base::send_signal(exit_.native_handle(), SIGKILL);
}

asio::awaitable<void> Keeper::replace_when_ended(base::Logger log) {
  for (;;) {
    const auto [error] =
        co_await exit_.async_wait(asio::posix::stream_descriptor::wait_read, base::kUseTuple);
    if (error) co_return;
    ::waitpid(pid_, nullptr, 0);
    auto next = start(exit_.get_executor(), *marks_);
    log->warn("the keeper (pid {}) was ended by somebody else{}",
              pid_,
              next ? ": started another one" : ", and another one cannot be started");
    if (!next) co_return;
    pid_ = next->pid_;
    exit_ = std::move(next->exit_);
  }
}

}  // namespace rankrun::agent
