// SPDX-License-Identifier: Apache-2.0
// The signals that the agent acts on, read as data: no handlers, so nothing runs at a bad moment.
#pragma once

#include "store/base/result.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <memory>
#include <set>

namespace rankrun::agent {

/// Pure: SIGTERM, SIGINT, SIGQUIT and SIGHUP end a job; all others are for its workers.
bool is_stop_signal(int signal);

/// Blocks signals for the calling thread and all it starts later, and reads them from a descriptor.
/// SIGHUP is left alone when it was ignored, so nohup keeps its meaning.
class SignalSource {
 public:
  /// Call it before any thread is started.
  static base::Result<std::unique_ptr<SignalSource>> open(
      const boost::asio::any_io_executor& executor, const std::set<int>& signals);

  SignalSource(const boost::asio::any_io_executor& executor, int fd);

  /// The next of these signals; 0 when cancelled. Waits as long as none comes.
  boost::asio::awaitable<int> next();

 private:
  boost::asio::posix::stream_descriptor fd_;
};

}  // namespace rankrun::agent
