// SPDX-License-Identifier: Apache-2.0
// The agent's way to its own stdout or stderr: ordered, bounded, and never blocking the loop.
#pragma once

#include "agent/line_merge.h"
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
  /// `fd` is one of our standard descriptors, which stay open; it is not touched before the first
  /// output.
  Console(boost::asio::any_io_executor executor, int fd);

  /// The descriptor that was given.
  int fd() const { return given_; }

  /// Takes all of `piece`; what cannot be written now waits.
  void show(const SourceText& piece);

  /// The same for a text of our own.
  void write_line(std::string_view text) { show({kOwnSource, {}, text}); }

  /// True when so much waits that writers should pause (await writable()).
  bool full() const { return waiting_.size() - written_ >= kMostWaiting; }
  boost::asio::awaitable<void> writable();

  /// True when nobody reads any more; all is dropped then.
  bool is_broken() const { return broken_; }

  /// Waits until something more was written; false when that took longer than `patience`.
  boost::asio::awaitable<bool> progress(base::Duration patience);

  /// Drops what waits and all that comes, as when nobody reads.
  void give_up();

  /// Writes what waits, as long as something is written every `patience`, then ends.
  boost::asio::awaitable<void> close(base::Duration patience);

  /// After close(): its patience ended before all was written.
  bool has_stalled() const { return has_stalled_; }

  static constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

 private:
  void open();
  int target() const { return fd_ ? fd_.get() : given_; }
  bool empty() const { return written_ == waiting_.size(); }
  std::size_t room() const;
  bool write_some();
  boost::asio::awaitable<void> flush();

  boost::asio::any_io_executor executor_;
  int given_;
  bool is_open_ = false;
  base::UniqueFd fd_;             // to the same place; without, for lack of descriptors, given_
  bool is_non_blocking_ = false;  // fd_, whose open file is ours alone
  int pipe_capacity_ = -1;        // of fd_; -1: it is none
  std::optional<boost::asio::posix::stream_descriptor> ready_;  // readable when fd_ is writable
  LineMerge lines_;
  std::string waiting_;
  std::size_t written_ = 0;  // of waiting_
  bool flushing_ = false;    // the flush task runs
  bool broken_ = false;      // nobody reads any more
  bool has_stalled_ = false;
  boost::asio::steady_timer progress_;  // cancelled whenever something was written
  base::TaskGroup tasks_;
};

}  // namespace rankrun::agent
