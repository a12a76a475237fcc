// SPDX-License-Identifier: Apache-2.0
#include "agent/console.h"

#include "store/base/async.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
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

// A descriptor that is readable when `fd` is writable. Asio would make `fd` itself non-blocking,
// and with it the open file that we share with our caller and our workers. -1: `fd` is never full
// (a regular file), or descriptors have run out.
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
      fd_(::fcntl(fd, F_DUPFD_CLOEXEC, 0)),
      broken_(!fd_),
      progress_(executor_, base::TimePoint::max()),
      tasks_(executor_, [this](const std::exception_ptr&) { give_up(); }) {
  const int watch = watch_writable(fd_.get());
  if (watch >= 0) ready_.emplace(executor_, watch);
}

void Console::write(std::string_view text) {
  if (broken_ || text.empty()) return;
  // What is written need not be kept; moved only once it is the larger part.
  if (written_ > waiting_.size() / 2) waiting_.erase(0, std::exchange(written_, 0));
  waiting_ += text;
  in_line_ = text.back() != '\n';
  if (flushing_) return;
  write_some();
  if (empty()) return;
  flushing_ = true;
  tasks_.spawn(flush());
}

void Console::write_line(std::string_view text) {
  if (in_line_) write("\n");
  write(text);
}

asio::awaitable<void> Console::writable() {
  while (full()) {
    co_await progress_.async_wait(base::kUseTuple);
  }
}

asio::awaitable<void> Console::close(base::TimePoint deadline) {
  co_await base::with_timeout(
      [](Console& self) -> asio::awaitable<bool> {
        co_await self.until_empty();
        co_return true;
      }(*this),
      deadline - base::Clock::now());
  give_up();
  tasks_.stop();
  co_await tasks_.join();
}

asio::awaitable<void> Console::until_empty() {
  while (!empty()) {
    co_await progress_.async_wait(base::kUseTuple);
  }
}

// Writes while the descriptor takes it. A pipe that polls writable takes PIPE_BUF bytes without
// blocking.
void Console::write_some() {
  while (!empty()) {
    pollfd ready{.fd = fd_.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 0) != 1) return;
    std::string_view piece = std::string_view(waiting_).substr(written_, PIPE_BUF);
    // Whole lines, where they fit: others write to the same place.
    piece = piece.substr(0, std::min(piece.rfind('\n'), piece.size() - 1) + 1);
    const ssize_t written = ::write(fd_.get(), piece.data(), piece.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (written < 0) return give_up();  // closed, or its disk is full: workers must not suffer
    written_ += static_cast<std::size_t>(written);
  }
  waiting_.clear();
  written_ = 0;
}

void Console::give_up() {
  broken_ = true;
  waiting_.clear();
  written_ = 0;
  progress_.cancel();
}

asio::awaitable<void> Console::flush() {
  asio::steady_timer retry(executor_);
  while (!empty()) {
    if (ready_) {
      co_await ready_->async_wait(asio::posix::stream_descriptor::wait_read, base::kUseTuple);
    } else {
      retry.expires_after(kRetry);
      co_await retry.async_wait(base::kUseTuple);
    }
    write_some();
    progress_.cancel();
  }
  flushing_ = false;
}

}  // namespace rankrun::agent
