// SPDX-License-Identifier: Apache-2.0
#include "store/base/async.h"

#include "store/base/task_group.h"
#include "tests/support/run_loop.h"

#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>

#include <string>

namespace rankrun::base {
namespace {

using namespace std::chrono_literals;

asio::awaitable<std::string> answer_at_once() {
  co_return "answer";
}

asio::awaitable<std::string> never_answer(bool& was_cancelled) {
  asio::steady_timer timer(co_await asio::this_coro::executor, TimePoint::max());
  const auto [error] = co_await timer.async_wait(kUseTuple);
  was_cancelled = error == asio::error::operation_aborted;
  co_return "too late";
}

asio::awaitable<void> check_value() {
  const auto answer = co_await with_timeout(answer_at_once(), 10min);
  CHECK(answer == "answer");
}

asio::awaitable<void> check_timeout(bool& was_cancelled) {
  const auto answer = co_await with_timeout(never_answer(was_cancelled), 1ms);
  CHECK(answer == std::nullopt);
}

TEST_CASE("with_timeout hands on the value of an operation that ends in time", "[base][async]") {
  asio::io_context loop(1);
  tests::run_loop(loop, check_value());
}

TEST_CASE("with_timeout cancels an operation at its limit and waits for its end", "[base][async]") {
  asio::io_context loop(1);
  bool was_cancelled = false;
  tests::run_loop(loop, check_timeout(was_cancelled));
  CHECK(was_cancelled);
}

// Takes a turn of the loop to end after its cancellation, so that the limit's timer ends first.
asio::awaitable<std::string> end_slowly() {
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer timer(co_await asio::this_coro::executor, TimePoint::max());
  co_await timer.async_wait(kUseTuple);
  co_await asio::post(asio::use_awaitable);
  co_return "too late";
}

asio::awaitable<void> note_timeout(bool& timed_out) {
  const auto answer = co_await with_timeout(end_slowly(), 10min);
  timed_out = !answer;
}

asio::awaitable<void> cancel_waiting_task(bool& timed_out) {
  TaskGroup group(co_await asio::this_coro::executor, [](std::exception_ptr) {});
  group.spawn(note_timeout(timed_out));
  co_await asio::post(asio::use_awaitable);  // the task waits now
  group.stop();
  co_await group.join();
}

TEST_CASE("the cancellation of a task is not taken for a timeout", "[base][async]") {
  asio::io_context loop(1);
  bool timed_out = false;
  tests::run_loop(loop, cancel_waiting_task(timed_out));
  CHECK_FALSE(timed_out);
}

}  // namespace
}  // namespace rankrun::base
