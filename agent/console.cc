// SPDX-License-Identifier: Apache-2.0
#include "agent/console.h"

#include "store/base/async.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <utility>

namespace rankrun::agent {

namespace asio = boost::asio;

namespace {

// Where no notification can be had, look again after this long.
constexpr base::Duration kRetry = std::chrono::milliseconds(10);

// A pipe or terminal, opened once more: an open file of our own, which may be non-blocking. Of
// other kinds there is no second one to be had.
base::UniqueFd reopen(int fd) {
  struct stat status {};
  const bool may_fill =
      ::fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || ::isatty(fd) == 1);
  if (!may_fill) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return base::UniqueFd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

// A descriptor that is readable when `fd` is writable. Asio would make `fd` itself non-blocking,
// and with it the open file that we may share with our caller and our workers. -1: `fd` is never
// full (a regular file), or descriptors have run out.
int watch_writable(int fd) {
  base::UniqueFd watch(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLOUT;
  if (!watch || ::epoll_ctl(watch.get(), EPOLL_CTL_ADD, fd, &event) != 0) return -1;
  return watch.release();
}

}  // namespace

Console::Console(asio::any_io_executor executor, int fd)
    : executor_(std::move(executor)),
      given_(fd),
      progress_(executor_, base::TimePoint::max()),
      tasks_(executor_, [this](const std::exception_ptr&) { give_up(); }) {}

void Console::open() {
  is_open_ = true;
  fd_ = reopen(given_);
  is_non_blocking_ = static_cast<bool>(fd_);
  if (is_non_blocking_) pipe_capacity_ = ::fcntl(fd_.get(), F_GETPIPE_SZ);
  if (!fd_) fd_ = base::UniqueFd(::fcntl(given_, F_DUPFD_CLOEXEC, 0));
  if (::fcntl(target(), F_GETFD) < 0) return give_up();
  const int watch = watch_writable(target());
  if (watch >= 0) ready_.emplace(executor_, watch);
}

void Console::show(const SourceText& piece) {
  if (!is_open_ && !broken_) open();
  if (broken_ || piece.text.empty()) return;
  // What is written need not be kept; moved only once it is the larger part.
  if (written_ > waiting_.size() / 2) waiting_.erase(0, std::exchange(written_, 0));
  lines_.add(piece, waiting_);
  if (flushing_) return;
  write_some();
  if (empty()) return;
  flushing_ = true;
  tasks_.spawn(flush());
}

asio::awaitable<void> Console::writable() {
  while (full()) {
    co_await progress_.async_wait(base::kUseTuple);
  }
}

asio::awaitable<bool> Console::progress(base::Duration patience) {
  co_return (co_await base::with_timeout(progress_.async_wait(base::kUseTuple), patience))
      .has_value();
}

asio::awaitable<void> Console::close(base::Duration patience) {
  // Not `if (!co_await ...) break`: g++ 12.2 lays the frame out wrongly then.
  bool takes_some = true;
  while (takes_some && !empty()) {
    takes_some = co_await progress(patience);
  }
  has_stalled_ = !takes_some;
  give_up();
  tasks_.stop();
  co_await tasks_.join();
}

// How much may be written at once: in one piece, since others write to the same place, and without
// blocking. A pipe that polls writable takes PIPE_BUF bytes in this way, an empty one all it holds.
std::size_t Console::room() const {
  if (!is_non_blocking_) {
    pollfd ready{.fd = target(), .events = POLLOUT, .revents = 0};
    return ::poll(&ready, 1, 0) == 1 ? PIPE_BUF : 0;
  }
  int unread = 0;
  const bool is_empty_pipe =
      pipe_capacity_ > 0 && ::ioctl(fd_.get(), FIONREAD, &unread) == 0 && unread == 0;
  return is_empty_pipe ? static_cast<std::size_t>(pipe_capacity_) : PIPE_BUF;
}

// Writes while the descriptor takes it. Returns whether it took some.
bool Console::write_some() {
  bool wrote = false;
  while (!empty()) {
    std::string_view piece = std::string_view(waiting_).substr(written_, room());
    if (piece.empty()) break;
    // Whole lines, where they fit: others write to the same place.
    piece = piece.substr(0, std::min(piece.rfind('\n'), piece.size() - 1) + 1);
    const ssize_t written = ::write(target(), piece.data(), piece.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) return wrote;
    if (written < 0) {
      give_up();  // closed, or its disk is full: workers must not suffer
      return true;
    }
    written_ += static_cast<std::size_t>(written);
    wrote = true;
  }
  if (empty()) {
    waiting_.clear();
    written_ = 0;
  }
  return wrote;
}

void Console::give_up() {
  broken_ = true;
  waiting_.clear();
  written_ = 0;
  progress_.cancel();
}

asio::awaitable<void> Console::flush() {
  asio::steady_timer retry(executor_);
  bool wrote = true;
  while (!empty()) {
    if (ready_ && wrote) {
      co_await ready_->async_wait(asio::posix::stream_descriptor::wait_read, base::kUseTuple);
    } else {
      retry.expires_after(kRetry);
      co_await retry.async_wait(base::kUseTuple);
    }
    wrote = write_some();
    if (wrote) progress_.cancel();
  }
  flushing_ = false;
}

}  // namespace rankrun::agent
