// SPDX-License-Identifier: Apache-2.0
// Our own log lines by way of the console, in order with the workers' output and never blocking.
#pragma once

#include "agent/console.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <spdlog/sinks/base_sink.h>

#include <mutex>
#include <string>
#include <utility>

namespace rankrun::agent {

/// A sink for the agent's logger. May be used from any thread while the console's loop lives; on
/// that loop a line is handed over at once, from elsewhere it is posted there.
class ConsoleSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  /// `console` belongs to who runs the loop, and outlives everything that logs on it.
  ConsoleSink(boost::asio::any_io_executor executor, Console& console)
      : executor_(std::move(executor)), console_(console) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    boost::asio::dispatch(executor_,
                          [&console = console_, text = std::string(line.begin(), line.end())] {
                            console.write_line(text);
                          });
  }
  void flush_() override {}

  boost::asio::any_io_executor executor_;
  Console& console_;
};

}  // namespace rankrun::agent
