// SPDX-License-Identifier: Apache-2.0
#include "agent/worker_group.h"

#include <csignal>
#include <exception>
#include <utility>

namespace rankrun::agent {

using base::failure;
using base::Result;
namespace asio = boost::asio;

WorkerGroup::WorkerGroup(asio::any_io_executor executor,
                         ProcessRunner& runner,
                         Console& console,
                         OnExit on_exit,
                         OnTrouble on_trouble)
    : executor_(std::move(executor)),
      runner_(runner),
      console_(console),
      on_exit_(std::move(on_exit)),
      tasks_(executor_, [on_trouble = std::move(on_trouble)](const std::exception_ptr& thrown) {
        on_trouble(base::error_of(thrown));
      }) {}

Result<void> WorkerGroup::start(std::vector<ProcessSpec> specs) {
  workers_.reserve(specs.size());
  for (ProcessSpec& spec : specs) {
    auto capture = LogCapture::open(executor_, console_);
    if (!capture) return failure(std::move(capture.error()));
    spec.stderr_fd = (*capture)->write_fd();
    auto process = runner_.start(spec);
    if (!process) return failure(std::move(process.error()));
    (*capture)->close_write_end();
    workers_.push_back(Worker{std::move(*capture), std::move(*process)});
    tasks_.spawn(workers_.back().capture->pump());
    tasks_.spawn(watch(static_cast<int>(workers_.size()) - 1));
  }
  return {};
}

void WorkerGroup::signal_all(int signal) {
  for (const Worker& worker : workers_) {
    worker.process->signal_group(signal);
  }
}

asio::awaitable<Result<void>> WorkerGroup::end(base::TimePoint deadline) {
  signal_all(SIGKILL);  // all at once, so that waiting for one is waiting for all
  Result<void> result;
  for (const Worker& worker : workers_) {
    auto ended = co_await worker.process->end_group(deadline);
    if (!ended && result) result = failure(std::move(ended.error()));
  }
  tasks_.stop();
  co_await tasks_.join();
  for (const Worker& worker : workers_) {
    worker.capture->drain();
  }
  co_return result;
}

asio::awaitable<void> WorkerGroup::watch(int local_rank) {
  const ExitStatus status = co_await worker(local_rank).process->wait_exit();
  worker(local_rank).capture->drain();  // its last words come before what is said about its end
  on_exit_(local_rank, status);
}

}  // namespace rankrun::agent
