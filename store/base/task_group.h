// SPDX-License-Identifier: Apache-2.0
// Owner of background coroutines: can stop them and wait for them.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <list>

namespace rankrun::base {

/// Spawns coroutines on one loop, cancels them on stop() and waits for them in join(). Belongs to
/// the loop of its executor. Must be joined, and so be empty, before it is destroyed.
class TaskGroup {
 public:
  /// Called on the loop with what escaped from a task; exceptions are bugs or exhausted memory.
  using OnException = std::function<void(std::exception_ptr)>;

  TaskGroup(boost::asio::any_io_executor executor, OnException on_exception);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Starts `task`; after stop() it is dropped unstarted.
  void spawn(boost::asio::awaitable<void> task);

  /// Refuses new tasks and asks the running ones to end. May be called again.
  void stop();

  /// Returns once no task is left; the caller has called stop() or knows that they end by
  /// themselves.
  boost::asio::awaitable<void> join();

  std::size_t size() const { return tasks_.size(); }

 private:
  struct Task {
    boost::asio::cancellation_signal cancel;
    bool started = false;
  };

  boost::asio::awaitable<void> run(std::list<Task>::iterator place,
                                   boost::asio::awaitable<void> task);

  boost::asio::any_io_executor executor_;
  OnException on_exception_;
  std::list<Task> tasks_;
  boost::asio::steady_timer empty_;  // cancelled whenever the last task ends
  bool stopping_ = false;
};

}  // namespace rankrun::base
