// SPDX-License-Identifier: Apache-2.0
#include "agent/watchdog.h"

#include "store/base/async.h"
#include "store/base/pidfd.h"
#include "store/base/text.h"
#include "store/base/unique_fd.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

namespace rankrun::agent {

using base::Result;
using base::UniqueFd;
namespace asio = boost::asio;

namespace {

constexpr std::size_t kReadSize = std::size_t{16} << 10;
constexpr std::size_t kCapacity = std::size_t{64} << 10;  // of a FIFO
constexpr auto kProc = "/proc";

bool is_replaceable(const struct stat& file) {
  return file.st_uid == ::geteuid() && (S_ISFIFO(file.st_mode) || S_ISREG(file.st_mode));
}

// Open for writing, too, so that it never ends for want of writers.
Result<UniqueFd> make_fifo(const std::string& path) {
  const std::string tried = "cannot make the timer file '" + base::escape_control(path) + "'";
  constexpr auto kRemedy = "name another one in TORCHELASTIC_TIMER_FILE, or none";
  struct stat file {};
  if (::lstat(path.c_str(), &file) == 0) {
    if (!is_replaceable(file)) return base::errno_failure(EEXIST, tried, kRemedy);
    ::unlink(path.c_str());
  }
  constexpr mode_t kMode = 0600;
  if (::mkfifo(path.c_str(), kMode) != 0) return base::errno_failure(errno, tried, kRemedy);
  UniqueFd fifo(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!fifo) return base::errno_failure(errno, tried, kRemedy);
  return fifo;
}

// What is in the FIFO, up to the size of `buffer`.
std::string_view read_from(int fifo, std::array<char, kReadSize>& buffer) {
  const ssize_t got = ::read(fifo, buffer.data(), buffer.size());
  return {buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

}  // namespace

Result<std::unique_ptr<Watchdog>> Watchdog::open(const asio::any_io_executor& executor,
                                                 std::string path,
                                                 base::Logger log) {
  auto fifo = make_fifo(path);
  if (!fifo) return base::failure(std::move(fifo.error()));
  return std::unique_ptr<Watchdog>(
      new Watchdog(executor, fifo->release(), std::move(path), std::move(log)));
}

Watchdog::Watchdog(const asio::any_io_executor& executor,
                   int fifo,
                   std::string path,
                   base::Logger log)
    : fifo_(executor, fifo), path_(std::move(path)), log_(std::move(log)) {}

Watchdog::~Watchdog() {
  const auto dropped = std::accumulate(dropped_.begin(), dropped_.end(), std::uint64_t{0});
  if (dropped > 0) log_->info("{} lines in the timer file set no timer", dropped);
  struct stat ours {};
  struct stat named {};
  if (::fstat(fifo_.native_handle(), &ours) != 0 || ::lstat(path_.c_str(), &named) != 0) return;
  if (ours.st_dev == named.st_dev && ours.st_ino == named.st_ino) ::unlink(path_.c_str());
}

void Watchdog::watch(std::vector<pid_t> workers, OnExpired on_expired) {
  workers_ = std::move(workers);
  on_expired_ = std::move(on_expired);
}

void Watchdog::rest() {
  workers_.clear();
  timers_.clear();
  lines_.clear();
  std::array<char, kReadSize> buffer{};
  for (std::size_t dropped = 0; dropped < kCapacity; dropped += buffer.size()) {
    if (read_from(fifo_.native_handle(), buffer).empty()) break;
  }
}

asio::awaitable<void> Watchdog::run() {
  using asio::posix::stream_descriptor;
  for (;;) {
    if (const auto expiry = timers_.next_expiry()) {
      co_await base::with_timeout(fifo_.async_wait(stream_descriptor::wait_read, base::kUseTuple),
                                  *expiry - base::Clock::now());
    } else {
      co_await fifo_.async_wait(stream_descriptor::wait_read, base::kUseTuple);
    }
    take_requests();
    end_expired();
  }
}

void Watchdog::take_requests() {
  std::array<char, kReadSize> buffer{};
  for (const ParsedTimer& request : lines_.add(read_from(fifo_.native_handle(), buffer))) {
    if (workers_.empty()) continue;  // from an attempt that has ended
    if (const auto fault = apply(request)) count(*fault);
  }
}

std::optional<TimerFault> Watchdog::apply(const ParsedTimer& request) {
  if (!request) return request.error();
  if (!request->expires) {
    timers_.release(*request);
    return std::nullopt;
  }
  const auto process = find_process(kProc, request->pid);
  if (!process || process->is_zombie() || !worker_of(*process)) return TimerFault::foreign_process;
  const BothClocks now{std::chrono::system_clock::now(), base::Clock::now()};
  if (!timers_.set(*request, *process, now)) return TimerFault::too_many;
  return std::nullopt;
}

void Watchdog::count(TimerFault fault) {
  if (++dropped_.at(static_cast<std::size_t>(fault)) != 1) return;
  log_->warn("a line in the timer file sets no timer: {}; more of these are not told",
             describe(fault));
}

void Watchdog::end_expired() {
  for (const Timer& timer : timers_.take_expired(base::Clock::now())) {
    end(timer);
  }
}

// The descriptor first: should its process end now, the signal goes nowhere, whoever has its id.
void Watchdog::end(const Timer& timer) {
  const UniqueFd descriptor = base::open_pidfd(timer.pid);
  if (!descriptor && errno != ESRCH) {
    log_->warn("the timer of process {} expired in vain: {}",
               timer.pid,
               std::error_code(errno, std::generic_category()).message());
  }
  const auto process = descriptor ? find_process(kProc, timer.pid) : std::nullopt;
  if (!process || process->is_zombie() || process->started != timer.started) return;
  const auto worker = worker_of(*process);
  if (worker && base::send_signal(descriptor.get(), timer.signal)) on_expired_(*worker, timer);
}

// A worker leads its session or, where that has a terminal, only its process group.
std::optional<int> Watchdog::worker_of(const ProcessEntry& process) const {
  const auto worker = std::find_if(workers_.begin(), workers_.end(), [&process](pid_t pid) {
    return process.session == pid || process.group == pid;
  });
  if (worker == workers_.end()) return std::nullopt;
  return static_cast<int>(worker - workers_.begin());
}

}  // namespace rankrun::agent
