// SPDX-License-Identifier: Apache-2.0
#include "store/base/task_group.h"

#include "store/base/async.h"
#include "tests/support/run_loop.h"

#include <catch2/catch.hpp>

#include <stdexcept>
#include <string>

namespace rankrun::base {
namespace {

asio::awaitable<void> wait_for_ever(int& ended) {
  asio::steady_timer timer(co_await asio::this_coro::executor, TimePoint::max());
  co_await timer.async_wait(kUseTuple);
  ++ended;
}

// Awaits again after it was cancelled, as most loops do.
asio::awaitable<void> wait_twice() {
  asio::steady_timer timer(co_await asio::this_coro::executor, TimePoint::max());
  co_await timer.async_wait(kUseTuple);
  co_await timer.async_wait(kUseTuple);
}

asio::awaitable<void> fail_with(std::string text) {
  throw std::runtime_error(text);
  co_return;
}

asio::awaitable<void> stop_and_join(TaskGroup& group) {
  group.stop();
  co_await group.join();
}

TEST_CASE("stop cancels every task and join waits for them", "[base][task_group]") {
  asio::io_context loop(1);
  TaskGroup group(loop.get_executor(), [](std::exception_ptr) { FAIL("no task failed"); });
  int ended = 0;
  for (int i = 0; i < 3; ++i) {
    group.spawn(wait_for_ever(ended));
  }
  group.spawn(wait_twice());
  CHECK(group.size() == 4);
  tests::run_loop(loop, stop_and_join(group));
  CHECK(ended == 3);
  CHECK(group.size() == 0);
}

TEST_CASE("a stopped group drops new tasks", "[base][task_group]") {
  asio::io_context loop(1);
  TaskGroup group(loop.get_executor(), [](std::exception_ptr) { FAIL("no task failed"); });
  group.stop();
  int ended = 0;
  group.spawn(wait_for_ever(ended));
  CHECK(group.size() == 0);
  tests::run_loop(loop, stop_and_join(group));
}

TEST_CASE("a task that has not begun is dropped by stop", "[base][task_group]") {
  asio::io_context loop(1);
  TaskGroup group(loop.get_executor(), [](std::exception_ptr) { FAIL("no task failed"); });
  int ended = 0;
  group.spawn(wait_for_ever(ended));
  group.stop();  // the loop has not run yet
  tests::run_loop(loop, stop_and_join(group));
  CHECK(ended == 0);
}

asio::awaitable<void> stop_own_group(TaskGroup& group) {
  group.stop();
  co_return;
}

TEST_CASE("a task may stop its own group", "[base][task_group]") {
  asio::io_context loop(1);
  TaskGroup group(loop.get_executor(), [](std::exception_ptr) { FAIL("no task failed"); });
  group.spawn(stop_own_group(group));
  loop.run();
  CHECK(group.size() == 0);
}

TEST_CASE("what escapes from a task is handed to the owner", "[base][task_group]") {
  asio::io_context loop(1);
  std::string seen;
  TaskGroup group(loop.get_executor(), [&seen](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::runtime_error& thrown) {
      seen = thrown.what();
    }
  });
  group.spawn(fail_with("broken"));
  loop.run();
  CHECK(seen == "broken");
}

}  // namespace
}  // namespace rankrun::base
