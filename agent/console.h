// SPDX-License-Identifier: Apache-2.0
// The agent's way to its own stderr: ordered, bounded, and never blocking the loop.
#pragma once

#include "store/base/clock.h"
#include "store/base/task_group.h"
#include "store/base/unique_fd.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rankrun::agent {

/// Writes to a descriptor as fast as it takes it. Does not make it non-blocking: the open file is
/// shared with whoever started us. When it is closed on the other side, output is dropped. Belongs
/// to one loop; call close() before destruction.
class Console {
 public:
  /// `fd` is duplicated.
  Console(boost::asio::any_io_executor executor, int fd);

  /// Takes all of `text`; what cannot be written now waits.
  void write(std::string_view text);

  /// The same, on a line of its own: after a worker's unfinished line, a newline comes first.
  void write_line(std::string_view text);

  /// True when so much waits that writers should pause (await writable()).
  bool full() const { return waiting_.size() - written_ >= kMostWaiting; }
  boost::asio::awaitable<void> writable();

  /// Writes what waits until `deadline`, then drops the rest and ends.
  boost::asio::awaitable<void> close(base::TimePoint deadline);

  static constexpr std::size_t kMostWaiting = 1 << 20;

 private:
  bool empty() const { return written_ == waiting_.size(); }
  void write_some();
  void give_up();
  boost::asio::awaitable<void> until_empty();
  boost::asio::awaitable<void> flush();

  boost::asio::any_io_executor executor_;
  base::UniqueFd fd_;
  std::optional<boost::asio::posix::stream_descriptor> ready_;  // readable when fd_ is writable
  std::string waiting_;
  std::size_t written_ = 0;             // of waiting_
  bool flushing_ = false;               // the flush task runs
  bool broken_ = false;                 // nobody reads any more
  bool in_line_ = false;                // what came last did not end its line
  boost::asio::steady_timer progress_;  // cancelled whenever something was written
  base::TaskGroup tasks_;
};

}  // namespace rankrun::agent
