// SPDX-License-Identifier: Apache-2.0
// Reads one stream of a worker and passes it on: to its log file, to the console, to the filtered
// lines, and to the memory for the failure report.
#pragma once

#include "agent/console_feed.h"
#include "agent/filtered_lines.h"
#include "agent/log_file.h"
#include "agent/log_lines.h"
#include "agent/route.h"
#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::agent {

/// What a worker writes to and what we read from.
struct CapturePipe {
  base::UniqueFd read_end;
  base::UniqueFd worker_end;

  /// A pipe.
  static base::Result<CapturePipe> open();
};

/// Where a stream is passed on to; each may be absent.
struct CaptureTargets {
  std::shared_ptr<LogFile> file;
  ConsoleStream* console = nullptr;  ///< of a feed, which outlives the workers; ours until finish()
  std::optional<FilteredLines> filtered;
  bool has_memory = false;  ///< its last lines are kept
};

/// Belongs to the agent's loop. Where the console is full and there is no file, reading pauses, and
/// so at last the worker's writes, as a pipe to a slow reader does.
class LogCapture {
 public:
  LogCapture(const boost::asio::any_io_executor& executor,
             CapturePipe pipe,
             CaptureTargets targets);
  ~LogCapture() { finish(); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// The end a worker writes to; close it here once the worker has it.
  int worker_end() const { return worker_end_.get(); }
  void close_worker_end() { worker_end_.reset(); }
  int read_end() { return read_end_.native_handle(); }

  /// Reads until the last writer closes, or until cancelled.
  boost::asio::awaitable<void> pump();

  /// Takes what is still in the pipe without waiting; for when the worker is dead. Takes no more
  /// than a pipe holds, should somebody else go on writing.
  void drain();

  /// The same, and nothing more will come.
  void finish();

  /// When something was last read; before the first time, the start of the clock.
  base::TimePoint read_at() const { return read_at_; }
  /// The console is what keeps us from reading on.
  bool is_held_up() const { return targets_.console != nullptr && targets_.console->must_pause(); }

  std::vector<std::string> last_lines() const { return tail_.lines(); }

 private:
  std::optional<std::size_t> take_some();
  void accept(std::string_view bytes);

  boost::asio::posix::stream_descriptor read_end_;
  base::UniqueFd worker_end_;
  CaptureTargets targets_;
  LineTail tail_;
  base::TimePoint read_at_;
};

}  // namespace rankrun::agent
