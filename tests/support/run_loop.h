// SPDX-License-Identifier: Apache-2.0
// Runs a coroutine to its end on a loop of its own; for tests.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <utility>

namespace rankrun::tests {

/// Runs `task` and everything it started on `loop`; rethrows what escapes from it.
inline void run_loop(boost::asio::io_context& loop, boost::asio::awaitable<void> task) {
  boost::asio::co_spawn(loop, std::move(task), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  loop.run();
}

}  // namespace rankrun::tests
