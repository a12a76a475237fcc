// SPDX-License-Identifier: Apache-2.0
#include "agent/worker_group.h"

#include "agent/signals.h"

#include <csignal>
#include <exception>
#include <utility>

namespace rankrun::agent {

using base::failure;
using base::Result;
namespace asio = boost::asio;

WorkerGroup::WorkerGroup(asio::any_io_executor executor,
                         ProcessRunner& runner,
                         AttemptOutput output,
                         OnExit on_exit,
                         OnTrouble on_trouble)
    : executor_(std::move(executor)),
      runner_(runner),
      output_(std::move(output)),
      on_exit_(std::move(on_exit)),
      tasks_(executor_, [on_trouble = std::move(on_trouble)](const std::exception_ptr& thrown) {
        on_trouble(base::error_of(thrown));
      }) {}

Result<void> WorkerGroup::start(std::vector<ProcessSpec> specs) {
  workers_.reserve(specs.size());
  if (output_.has_terminal()) tasks_.spawn(follow_terminal());
  for (ProcessSpec& spec : specs) {
    const int local_rank = static_cast<int>(workers_.size());
    auto output = output_.open(local_rank, spec);
    if (!output) return failure(std::move(output.error()));
    auto process = runner_.start(spec);
    if (!process) return failure(std::move(process.error()));
    workers_.push_back(Worker{std::move(*output), std::move(*process)});
    workers_.back().output.start(tasks_);
    tasks_.spawn(watch(local_rank));
  }
  return {};
}

void WorkerGroup::signal_all(int signal) {
  for (const Worker& worker : workers_) {
    worker.process->signal_group(signal);
  }
}

asio::awaitable<Result<void>> WorkerGroup::end(base::TimePoint deadline) {
  signal_all(SIGKILL);
  Result<void> result = co_await runner_.end_all(deadline);
  tasks_.stop();
  co_await tasks_.join();
  for (Worker& worker : workers_) {
    worker.output.drain();  // of all first: what several have said can be shown as one
  }
  for (Worker& worker : workers_) {
    worker.output.finish();
  }
  co_return result;
}

std::vector<pid_t> WorkerGroup::pids() const {
  std::vector<pid_t> pids;
  pids.reserve(workers_.size());
  for (const Worker& worker : workers_) {
    pids.push_back(worker.process->pid());
  }
  return pids;
}

asio::awaitable<void> WorkerGroup::watch(int local_rank) {
  const ExitStatus status = co_await worker(local_rank).process->wait_exit();
  Worker& ended = workers_.at(static_cast<std::size_t>(local_rank));
  ended.is_live = false;
  ended.output.drain();  // its last words come before what is said about its end
  on_exit_(local_rank, status);
}

// The kernel tells only the owners of our terminal about its size; workers have one of their own.
asio::awaitable<void> WorkerGroup::follow_terminal() {
  const auto changes = SignalSource::open(executor_, {SIGWINCH});
  while (changes && co_await (*changes)->next() != 0) {
    for (Worker& worker : workers_) {
      worker.output.resize(output_.terminal());
      worker.process->signal_group(SIGWINCH);
    }
  }
}

}  // namespace rankrun::agent
