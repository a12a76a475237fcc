// SPDX-License-Identifier: Apache-2.0
#include "store/base/task_group.h"

#include "store/base/assert.h"
#include "store/base/async.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace rankrun::base {
namespace {

/// After a cancellation Asio throws this from the task's next await: the ordinary end of a stop.
bool is_cancellation(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const boost::system::system_error& thrown) {
    return thrown.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace

TaskGroup::TaskGroup(asio::any_io_executor executor, OnException on_exception)
    : executor_(std::move(executor)),
      on_exception_(std::move(on_exception)),
      empty_(executor_, TimePoint::max()) {}

TaskGroup::~TaskGroup() {
  // While an exception unwinds to main, whose message is worth more than this one, tasks may be
  // left.
  RANKRUN_ASSERT(tasks_.empty() || std::uncaught_exceptions() > 0);
}

void TaskGroup::spawn(asio::awaitable<void> task) {
  if (stopping_) return;
  const auto place = tasks_.emplace(tasks_.end());
  auto on_end = [this, place](std::exception_ptr error) {
    tasks_.erase(place);
    if (error && !(stopping_ && is_cancellation(error))) on_exception_(std::move(error));
    if (tasks_.empty()) empty_.cancel();
  };
  asio::co_spawn(executor_,
                 run(place, std::move(task)),
                 asio::bind_cancellation_slot(place->cancel.slot(), std::move(on_end)));
}

// Boost 1.81's co_spawn awaits once before and once after a coroutine; when the cancellation has
// come by then, these awaits throw past its handler. So an unstarted task is not cancelled but
// dropped here, and a task that has ended no longer throws.
asio::awaitable<void> TaskGroup::run(std::list<Task>::iterator place, asio::awaitable<void> task) {
  if (stopping_) co_return;
  place->started = true;
  std::exception_ptr error;
  try {
    co_await std::move(task);
  } catch (...) {
    error = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  if (error) std::rethrow_exception(error);
}

void TaskGroup::stop() {
  stopping_ = true;
  for (auto place = tasks_.begin(); place != tasks_.end();) {
    // The signal may end its task, and so erase itself, before emit returns.
    const auto current = place++;
    if (current->started) current->cancel.emit(asio::cancellation_type::all);
  }
}

asio::awaitable<void> TaskGroup::join() {
  while (!tasks_.empty()) {
    co_await empty_.async_wait(kUseTuple);
  }
}

}  // namespace rankrun::base
