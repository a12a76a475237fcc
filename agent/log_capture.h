// SPDX-License-Identifier: Apache-2.0
// Reads one worker's stderr through a pipe: passes it on to the console line by line and remembers
// its end for the failure report.
#pragma once

#include "agent/console.h"
#include "agent/log_lines.h"
#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::agent {

/// Belongs to the agent's loop. A full console pauses reading, and so at last the worker's writes,
/// as a pipe to a slow reader does.
class LogCapture {
 public:
  /// Makes the pipe. `console` is the agent's, which outlives its workers' captures.
  static base::Result<std::unique_ptr<LogCapture>> open(
      const boost::asio::any_io_executor& executor, Console& console);

  LogCapture(const boost::asio::any_io_executor& executor,
             Console& console,
             base::UniqueFd read_end,
             base::UniqueFd write_end);

  /// The end a worker writes to; close it here once the worker has it.
  int write_fd() const { return write_end_.get(); }
  void close_write_end() { write_end_.reset(); }

  /// Reads until the last writer closes, or until cancelled.
  boost::asio::awaitable<void> pump();

  /// Takes what is still in the pipe without waiting; for when the worker is dead. Takes no more
  /// than a pipe holds, should somebody else go on writing.
  void drain();

  std::vector<std::string> last_lines() const { return tail_.lines(); }

 private:
  enum class Taken { bytes, nothing, end };

  Taken take_some();
  void accept(std::string_view bytes);
  void flush_rest();

  Console& console_;
  boost::asio::posix::stream_descriptor read_end_;
  base::UniqueFd write_end_;
  LineSplitter lines_;
  LineTail tail_;
};

}  // namespace rankrun::agent
