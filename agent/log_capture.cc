// SPDX-License-Identifier: Apache-2.0
#include "agent/log_capture.h"

#include "store/base/async.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

namespace rankrun::agent {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kReadSize = std::size_t{64} << 10;
// In a steady flow, bytes gather for this long between two reads: waking us for every line costs
// writer and reader more than all else. Below what anybody sees; what comes after a pause is read
// at once.
constexpr base::Duration kGather = std::chrono::milliseconds(1);
// A pseudo terminal does not say what it holds: the kernel's limit for one, with some to spare.
constexpr int kTerminalCapacity = 16 << 10;

}  // namespace

base::Result<CapturePipe> CapturePipe::open() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::errno_failure(
        errno, "cannot open a pipe for a worker's output", "raise the limit of files (ulimit -n)");
  }
  return CapturePipe{base::UniqueFd(ends[0]), base::UniqueFd(ends[1])};
}

LogCapture::LogCapture(const asio::any_io_executor& executor,
                       CapturePipe pipe,
                       CaptureTargets targets)
    : read_end_(executor, pipe.read_end.release()),
      worker_end_(std::move(pipe.worker_end)),
      targets_(std::move(targets)) {
  read_end_.non_blocking(true);
}

// Waits and then reads, in two steps: a read that has ended but not been looked at could be
// overtaken by drain().
asio::awaitable<void> LogCapture::pump() {
  asio::steady_timer gathering(read_end_.get_executor());
  for (;;) {
    const base::TimePoint since = base::Clock::now();
    const auto [error] =
        co_await read_end_.async_wait(asio::posix::stream_descriptor::wait_read, base::kUseTuple);
    const bool is_flow = base::Clock::now() - since < kGather;
    const auto taken = error ? std::nullopt : take_some();
    if (!taken) break;
    if (is_held_up()) {
      co_await targets_.console->resumed();
    } else if (is_flow && *taken < kReadSize) {
      gathering.expires_after(kGather);
      co_await gathering.async_wait(base::kUseTuple);
    }
  }
}

void LogCapture::drain() {
  // A pipe holds no more than its capacity; what comes after that is from a writer that lives.
  const int of_pipe = ::fcntl(read_end(), F_GETPIPE_SZ);
  const auto capacity = static_cast<std::size_t>(std::max(of_pipe, kTerminalCapacity));
  std::size_t taken = 0;
  while (const std::size_t more = taken < capacity ? take_some().value_or(0) : 0) {
    taken += more;
  }
  if (targets_.console != nullptr) targets_.console->flush();
}

void LogCapture::finish() {
  drain();
  if (targets_.console != nullptr) std::exchange(targets_.console, nullptr)->finish();
  if (targets_.filtered) targets_.filtered->finish();
  targets_ = {};  // what comes late all the same is dropped
}

// How much there was now; nothing at the end.
std::optional<std::size_t> LogCapture::take_some() {
  char buffer[kReadSize];  // not cleared: that would cost as much as the reading
  boost::system::error_code error;
  const std::size_t size = read_end_.read_some(asio::buffer(buffer), error);
  if (error == asio::error::would_block || error == asio::error::try_again) return 0;
  if (error) return std::nullopt;  // of a pseudo terminal, EIO is the end
  accept({buffer, size});
  return size;
}

void LogCapture::accept(std::string_view bytes) {
  read_at_ = base::Clock::now();
  if (targets_.has_memory) tail_.add(bytes);
  const std::size_t in_file = targets_.file ? targets_.file->append(bytes) : 0;
  if (targets_.filtered) targets_.filtered->add(bytes);
  if (targets_.console != nullptr) targets_.console->add(bytes, in_file);
}

}  // namespace rankrun::agent
