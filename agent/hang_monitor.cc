// SPDX-License-Identifier: Apache-2.0
#include "agent/hang_monitor.h"

#include "agent/process_table.h"
#include "store/base/async.h"

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <utility>

namespace rankrun::agent {

namespace asio = boost::asio;
namespace fs = std::filesystem;

namespace {

constexpr base::Duration kShowLimit = std::chrono::seconds(10);  // for the stacks of all workers
constexpr base::Duration kConsolePatience = std::chrono::seconds(5);

constexpr auto kProc = "/proc";

base::Duration cpu_time(std::uint64_t ticks) {
  static const long ticks_per_second = std::max(::sysconf(_SC_CLK_TCK), 1L);
  const base::Duration second = std::chrono::seconds(1);
  return second * static_cast<std::int64_t>(ticks) / ticks_per_second;
}

// What the sessions with these ids have used. A worker that has borrowed our terminal leads only a
// process group.
std::map<pid_t, std::uint64_t> used_ticks(const std::vector<pid_t>& leaders) {
  std::map<pid_t, std::uint64_t> ticks;
  for (const pid_t leader : leaders) {
    ticks.emplace(leader, 0);
  }
  for_each_process(kProc, [&ticks](const ProcessEntry& process) {
    auto found = ticks.find(process.session);
    if (found == ticks.end()) found = ticks.find(process.group);
    if (found != ticks.end()) found->second += process.cpu_ticks;
  });
  return ticks;
}

std::optional<fs::file_time_type> changed_at(const std::string& path) {
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  return error ? std::nullopt : std::optional(time);
}

}  // namespace

HangMonitor::HangMonitor(asio::any_io_executor executor,
                         HangContext context,
                         OnHang on_hang,
                         OnTrouble on_trouble)
    : executor_(std::move(executor)),
      context_(std::move(context)),
      on_hang_(std::move(on_hang)),
      tasks_(executor_, [on_trouble = std::move(on_trouble)](const std::exception_ptr& thrown) {
        on_trouble(base::error_of(thrown));
      }) {
  tasks_.spawn(watch());
}

asio::awaitable<void> HangMonitor::join() {
  co_await tasks_.join();
}

asio::awaitable<void> HangMonitor::watch() {
  const auto workers = static_cast<std::size_t>(context_.workers.size());
  HangWatch watch(context_.config.hang_timeout, workers, base::Clock::now());
  asio::steady_timer timer(executor_);
  for (;;) {
    timer.expires_after(watch.interval());
    const auto [cancelled] = co_await timer.async_wait(base::kUseTuple);
    if (cancelled) co_return;
    const auto suspected = watch.look(samples(), base::Clock::now());
    if (!suspected) continue;
    co_await show(watch, *suspected);
    // That took a while; somebody may have gone on.
    auto hang = watch.look(samples(), base::Clock::now());
    if (!hang) continue;
    on_hang_(std::move(*hang));
    co_return;
  }
}

std::vector<WorkerSample> HangMonitor::samples() const {
  const WorkerGroup& workers = context_.workers;
  const auto ticks = used_ticks(workers.pids());
  const base::TimePoint now = base::Clock::now();
  std::vector<WorkerSample> samples;
  samples.reserve(static_cast<std::size_t>(workers.size()));
  for (int local_rank = 0; local_rank < workers.size(); ++local_rank) {
    samples.push_back({.is_live = workers.is_live(local_rank),
                       .last_output = workers.output(local_rank).written_at(now),
                       .cpu = cpu_time(ticks.at(workers.pid(local_rank))),
                       .heartbeat = changed_at(context_.log_dir.heartbeat_file(local_rank))});
  }
  return samples;
}

// All tools run side by side: while one is read, the pipes take all that is kept of the others.
asio::awaitable<void> HangMonitor::show(const HangWatch& watch, const Hang& hang) {
  const base::TimePoint deadline = base::Clock::now() + kShowLimit;
  context_.log->warn("{}; what the workers do:", describe(hang, context_.first_rank));
  std::vector<HungWorker> workers;
  std::vector<std::optional<StackDump>> dumps;
  for (int local_rank = 0; local_rank < context_.workers.size(); ++local_rank) {
    if (!context_.workers.is_live(local_rank)) continue;
    HungWorker worker = describe_worker(local_rank);
    worker.silence = watch.silence(static_cast<std::size_t>(local_rank));
    worker.is_hung = std::find(hang.local_ranks.begin(), hang.local_ranks.end(), local_rank) !=
                     hang.local_ranks.end();
    dumps.push_back(start_dump(worker));
    workers.push_back(std::move(worker));
  }
  Console& console = context_.console;
  bool takes_some = true;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (dumps[i]) {
      workers[i].stack = co_await dumps[i]->text(deadline);
    }
    console.write_line(format_hung_worker(workers[i]));
    while (takes_some && console.full()) {
      takes_some = co_await console.progress(kConsolePatience);
    }
  }
}

HungWorker HangMonitor::describe_worker(int local_rank) const {
  const WorkerGroup& workers = context_.workers;
  const WorkerOutput& output = workers.output(local_rank);
  HungWorker worker;
  worker.rank = context_.first_rank + local_rank;
  worker.local_rank = local_rank;
  worker.pid = workers.pid(local_rank);
  worker.kernel = read_wait(kProc, worker.pid);
  worker.last_line = output.last_line();
  const base::TimePoint now = base::Clock::now();
  const base::TimePoint written_at = output.written_at(now);
  if (written_at != base::TimePoint()) worker.since_output = now - written_at;
  return worker;
}

std::optional<StackDump> HangMonitor::start_dump(HungWorker& worker) const {
  std::error_code ignored;
  const fs::path program =
      fs::read_symlink(fs::path(kProc) / std::to_string(worker.pid) / "exe", ignored);
  const Environment& environment = context_.config.environment;
  const auto command = stack_command(worker.pid, program.string(), environment);
  if (command.empty()) {
    worker.stack_source = fmt::format(
        "neither py-spy nor gdb in PATH; with faulthandler.register(signal.SIGUSR1) in the program "
        "`kill -USR1 {}` has all workers print theirs",
        ::getpid());
    return std::nullopt;
  }
  worker.stack_source = fmt::format("{}", fmt::join(command, " "));
  auto dump = StackDump::start(executor_, context_.runner, command, environment);
  if (dump) return std::move(*dump);
  worker.stack_source = dump.error().message();
  return std::nullopt;
}

}  // namespace rankrun::agent
