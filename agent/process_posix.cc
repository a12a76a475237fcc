// SPDX-License-Identifier: Apache-2.0
#include "agent/process_posix.h"

#include "agent/errc.h"
#include "agent/process_table.h"
#include "agent/spawn.h"
#include "store/base/assert.h"
#include "store/base/async.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace rankrun::agent {

using base::failure;
using base::Result;
namespace asio = boost::asio;

namespace {

constexpr auto kStuckRemedy = "look at what it waits for: a file system, a device, a frozen cgroup";
constexpr base::Duration kFirstPause = std::chrono::microseconds(100);
constexpr base::Duration kLongestPause = std::chrono::milliseconds(10);

ExitStatus decode(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return ExitStatus::exited(info.si_status);
  return ExitStatus::signaled(info.si_status, info.si_code == CLD_DUMPED);
}

}  // namespace

class PosixProcess final : public Process {
 public:
  PosixProcess(const asio::any_io_executor& executor,
               Children& children,
               Child child,
               std::atomic<pid_t>* place,
               std::optional<MemoryCgroup> memory)
      : children_(children),
        pid_(child.pid),
        place_(place),
        exit_(executor, child.pidfd.release()),
        memory_(std::move(memory)),
        kills_before_(memory_ ? memory_kills(*memory_) : std::nullopt) {
    children_.unreaped.emplace(pid_, this);
  }
  ~PosixProcess() override {
    // Before the end of all: a tool of ours, an early return while starting, or an exception. What
    // else it started is ended by the runner. One that outlived SIGKILL is not waited for again.
    if (reaped_) return;
    ::kill(-pid_, SIGKILL);
    children_.unreaped.erase(pid_);
    if (stuck_) return;
    *place_ = 0;  // its number may come to mean another process from now on
    ::waitpid(pid_, nullptr, 0);
  }
  PosixProcess(const PosixProcess&) = delete;
  PosixProcess& operator=(const PosixProcess&) = delete;

  pid_t pid() const override { return pid_; }

  asio::awaitable<ExitStatus> wait_exit() override {
    // A pidfd becomes readable when its process ends.
    while (!observe_exit(WNOHANG)) {
      co_await exit_.async_wait(asio::posix::stream_descriptor::wait_read, base::kUseTuple);
    }
    co_return *status_;
  }

  void signal_group(int signal) override {
    if (!reaped_) ::kill(-pid_, signal);
  }

  std::optional<OutOfMemory> memory_kill() const override {
    const auto kills = memory_ ? memory_kills(*memory_) : std::nullopt;
    if (!kills || !kills_before_ || *kills <= *kills_before_) return std::nullopt;
    return memory_facts(*memory_);
  }

  /// Waits for its end, which must be near.
  void reap();
  void give_up() { stuck_ = true; }

 private:
  bool observe_exit(int options);

  Children& children_;  // of the runner, which outlives its processes
  pid_t pid_;
  std::atomic<pid_t>* place_;            // where the containment has it
  asio::posix::stream_descriptor exit_;  // pidfd of the leader
  std::optional<MemoryCgroup> memory_;   // where its memory is counted
  std::optional<std::uint64_t> kills_before_;
  std::optional<ExitStatus> status_;  // once it has exited
  bool reaped_ = false;
  bool stuck_ = false;  // something of its attempt outlived SIGKILL
};

// True when it has exited; it stays a zombie (WNOWAIT).
bool PosixProcess::observe_exit(int options) {
  if (status_) return true;
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_);
  const int rc = ::waitid(P_PID, id, &info, WEXITED | WNOWAIT | options);
  RANKRUN_ASSERT(rc == 0);  // our unreaped child: it cannot be gone
  if (info.si_pid == 0) return false;
  status_ = decode(info);
  return true;
}

void PosixProcess::reap() {
  observe_exit(0);
  ::waitpid(pid_, nullptr, 0);
  reaped_ = true;
  if (children_.terminal && children_.terminal->borrower() == pid_) children_.terminal.reset();
}

PosixProcessRunner::PosixProcessRunner(asio::any_io_executor executor, Containment& containment)
    : executor_(std::move(executor)), containment_(containment), memory_(own_memory_cgroup()) {
  // A parent that ignores SIGCHLD would have the kernel throw exit codes away.
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &default_action, nullptr);
}

// Not ended in order. What outlives this is the keeper's.
PosixProcessRunner::~PosixProcessRunner() {
  auto pause = kFirstPause;
  for (int round = 0; has_started_ && pause < std::chrono::seconds(1); ++round) {
    if (containment_.end_round(round).empty()) {
      containment_.close_attempt();
      return;
    }
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
}

Result<std::unique_ptr<Process>> PosixProcessRunner::start(const ProcessSpec& spec) {
  auto ties = containment_.tie(spec.memory_max);
  if (!ties) return failure(std::move(ties.error()));
  const bool lends_terminal = spec.input == Input::terminal;
  if (lends_terminal) children_.terminal.emplace();
  has_started_ = true;
  auto child = spawn(spec, *ties, lends_terminal ? &*children_.terminal : nullptr);
  if (!child) {
    if (lends_terminal) children_.terminal.reset();
    return failure(std::move(child.error()));
  }
  if (lends_terminal) children_.terminal->set_borrower(child->pid);
  auto memory = ties->memory_cgroup ? std::move(ties->memory_cgroup) : memory_;
  return std::make_unique<PosixProcess>(
      executor_, children_, *std::move(child), ties->place, std::move(memory));
}

// No notification exists for the end of processes that are not our children: look again, soon at
// first.
asio::awaitable<Result<void>> PosixProcessRunner::end_all(base::TimePoint deadline) {
  asio::steady_timer timer(executor_);
  base::Duration pause = kFirstPause;
  for (int round = 0;; ++round) {
    const std::vector<ProcessEntry> left = containment_.end_round(round);
    if (left.empty()) break;
    if (base::Clock::now() >= deadline) {
      for (const auto& [pid, process] : children_.unreaped) {
        process->give_up();
      }
      has_started_ = false;
      co_return failure(errc::workers_stuck, describe_left(left), kStuckRemedy);
    }
    timer.expires_after(pause);
    co_await timer.async_wait(base::kUseTuple);
    pause = std::min(2 * pause, kLongestPause);
  }
  containment_.close_attempt();  // before the reaping, which frees the numbers of its processes
  for (const auto& [pid, process] : children_.unreaped) {
    process->reap();
  }
  children_.unreaped.clear();
  has_started_ = false;
  co_return Result<void>();
}

void PosixProcessRunner::on_child_signal() {
  if (children_.terminal) children_.terminal->follow_stop();
  if (::getpid() != 1) return;
  for_each_process("/proc", [this](const ProcessEntry& process) {
    const bool is_orphan = process.parent == 1 && !children_.unreaped.contains(process.pid);
    if (is_orphan && process.is_zombie()) ::waitpid(process.pid, nullptr, WNOHANG);
  });
}

}  // namespace rankrun::agent
