// SPDX-License-Identifier: Apache-2.0
// The completion token of all our awaits, and one of our two ways to race or spawn: with_timeout
// (the other is TaskGroup).
#pragma once

#include "store/base/clock.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <optional>
#include <utility>
#include <variant>

namespace rankrun::base {

namespace asio = boost::asio;

/// Errors as values: awaits yield tuple<error_code, ...> and do not throw.
inline constexpr auto kUseTuple = asio::as_tuple(asio::use_awaitable);

/// Awaits `operation` for at most `limit`; nullopt when the limit came first, and the operation has
/// then been cancelled and has ended. A read that is cancelled loses no data. When the awaiting
/// task itself is cancelled, that is no timeout: throws operation_aborted, as its next await would.
template <typename T>
asio::awaitable<std::optional<T>> with_timeout(asio::awaitable<T> operation, Duration limit) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor, limit);
  auto winner = co_await (std::move(operation) || timer.async_wait(kUseTuple));
  if (winner.index() == 0) co_return std::optional<T>(std::get<0>(std::move(winner)));
  if (const auto [error] = std::get<1>(winner); error) throw boost::system::system_error(error);
  co_return std::nullopt;
}

}  // namespace rankrun::base
