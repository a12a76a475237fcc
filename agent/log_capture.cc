// SPDX-License-Identifier: Apache-2.0
#include "agent/log_capture.h"

#include "store/base/async.h"

#include <boost/asio/buffer.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

namespace rankrun::agent {

namespace asio = boost::asio;

namespace {

// An unfinished line (a prompt, a progress dot) is shown after this long without more of it.
constexpr base::Duration kIdleFlush = std::chrono::milliseconds(50);
constexpr std::size_t kReadSize = std::size_t{16} << 10;

}  // namespace

base::Result<std::unique_ptr<LogCapture>> LogCapture::open(const asio::any_io_executor& executor,
                                                           Console& console) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::errno_failure(
        errno, "cannot open a pipe for a worker's stderr", "raise the limit of files (ulimit -n)");
  }
  return std::make_unique<LogCapture>(
      executor, console, base::UniqueFd(ends[0]), base::UniqueFd(ends[1]));
}

LogCapture::LogCapture(const asio::any_io_executor& executor,
                       Console& console,
                       base::UniqueFd read_end,
                       base::UniqueFd write_end)
    : console_(console), read_end_(executor, read_end.release()), write_end_(std::move(write_end)) {
  read_end_.non_blocking(true);
}

// Waits and then reads, in two steps: a read that has ended but not been looked at could be
// overtaken by drain().
asio::awaitable<void> LogCapture::pump() {
  for (;;) {
    auto readable =
        read_end_.async_wait(asio::posix::stream_descriptor::wait_read, base::kUseTuple);
    std::optional<std::tuple<boost::system::error_code>> got;
    if (lines_.has_rest()) {
      got = co_await base::with_timeout(std::move(readable), kIdleFlush);
    } else {
      got = co_await std::move(readable);
    }
    if (!got) {
      flush_rest();
      continue;
    }
    if (std::get<0>(*got) || take_some() == Taken::end) break;
    co_await console_.writable();
  }
}

void LogCapture::drain() {
  // A pipe holds no more than its capacity; what comes after that is from a writer that lives.
  const int capacity = ::fcntl(read_end_.native_handle(), F_GETPIPE_SZ);
  for (int taken = 0; taken < capacity; taken += static_cast<int>(kReadSize)) {
    if (take_some() != Taken::bytes) break;
  }
  flush_rest();
}

LogCapture::Taken LogCapture::take_some() {
  std::array<char, kReadSize> buffer{};
  boost::system::error_code error;
  const std::size_t size = read_end_.read_some(asio::buffer(buffer), error);
  if (error == asio::error::would_block || error == asio::error::try_again) return Taken::nothing;
  if (error) return Taken::end;
  accept({buffer.data(), size});
  return Taken::bytes;
}

void LogCapture::accept(std::string_view bytes) {
  tail_.add(bytes);
  console_.write(lines_.add(bytes));
}

void LogCapture::flush_rest() {
  console_.write(lines_.take_rest());
}

}  // namespace rankrun::agent
