// SPDX-License-Identifier: Apache-2.0
// The streams of all workers on their way to one console: line by line, none mixed, none lost.
#pragma once

#include "agent/console.h"
#include "agent/line_fold.h"
#include "agent/line_prefix.h"
#include "agent/log_file.h"
#include "agent/log_lines.h"
#include "store/base/clock.h"
#include "store/base/task_group.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rankrun::agent {

class ConsoleFeed;

/// Whose stream it is and where else it goes.
struct StreamOrigin {
  int rank = 0;  ///< global
  LinePrefix prefix;
  std::shared_ptr<LogFile> file;  ///< null: none
};

/// One worker's stream. What a full console does not take waits in the stream's log file, and only
/// what is not there in memory; then reading the worker must pause. Owned by its feed.
class ConsoleStream {
 public:
  ConsoleStream(ConsoleFeed& feed, SourceId id, StreamOrigin origin);

  /// More of the stream, of which the first `in_file` bytes are at the end of its file, too.
  void add(std::string_view bytes, std::size_t in_file);

  bool must_pause() const { return !in_memory_.empty(); }
  boost::asio::awaitable<void> resumed();

  /// Shows the unfinished line now, for its writer has ended.
  void flush();

  /// Nothing more comes. The feed destroys the stream once all of it is shown: let go of it.
  void finish();

 private:
  friend class ConsoleFeed;

  bool is_behind() const { return shown_ < in_file_ || must_pause(); }
  std::optional<base::TimePoint> idle_at() const;
  void show(std::string_view bytes);
  void show_more();
  void skip();

  ConsoleFeed& feed_;
  SourceId id_;
  StreamOrigin origin_;
  LineSplitter lines_;
  base::TimePoint grew_;     // when the unfinished line did
  std::size_t in_file_ = 0;  // bytes
  std::size_t shown_ = 0;    // of those
  std::string in_memory_;    // what comes after them and is not shown yet
  bool is_finished_ = false;
  boost::asio::steady_timer resumed_;  // cancelled when in_memory_ becomes empty
};

/// Belongs to one loop; call close() before destruction, when all streams are finished.
class ConsoleFeed {
 public:
  /// With `folds`, equal lines of several ranks are shown once. For `fd`, see Console.
  ConsoleFeed(boost::asio::any_io_executor executor, int fd, bool folds);

  /// For our own lines.
  Console& console() { return console_; }

  ConsoleStream& open(StreamOrigin origin);

  /// Shows what is behind and waits, as long as the console takes something every `patience`.
  boost::asio::awaitable<void> close(base::Duration patience);

  /// After close(): its patience ended before all was shown.
  bool has_stalled() const { return has_stalled_; }

  /// An unfinished line (a prompt) is shown after this long without more of it.
  static constexpr base::Duration kIdleFlush = std::chrono::milliseconds(50);

 private:
  friend class ConsoleStream;

  // What the streams call.
  bool takes_more() const { return !catching_up_ && !console_.full(); }
  void show(ConsoleStream& stream, std::string_view text);
  void end(ConsoleStream& stream);
  void fall_behind();
  void arm(base::TimePoint due);

  void show_folded();
  void show_folded(const LineFold::Line& line);
  ConsoleStream* next_behind();
  void show_behind(ConsoleStream& stream);
  boost::asio::awaitable<void> catch_up();
  std::optional<base::TimePoint> next_due() const;
  void flush_due(base::TimePoint now);
  boost::asio::awaitable<void> tick();

  boost::asio::any_io_executor executor_;
  Console console_;
  std::optional<LineFold> fold_;
  std::map<SourceId, std::unique_ptr<ConsoleStream>> streams_;
  SourceId next_id_ = kOwnSource + 1;
  bool has_stalled_ = false;
  bool catching_up_ = false;  // some stream is behind, and that task runs
  SourceId last_caught_up_ = kOwnSource;
  bool ticking_ = false;           // something is due at some time, and that task runs
  boost::asio::steady_timer due_;  // what ticking waits for
  base::TaskGroup tasks_;
};

}  // namespace rankrun::agent
