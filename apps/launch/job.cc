// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/job.h"

#include "agent/agent.h"
#include "agent/console_sink.h"
#include "agent/placement.h"
#include "agent/process_posix.h"
#include "agent/signals.h"
#include "rendezvous/local.h"
#include "store/base/async.h"
#include "store/base/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace rankrun::launch {

using base::Clock;
using base::failure;
using base::Result;
namespace asio = boost::asio;

namespace {

constexpr base::Duration kConsoleLimit = std::chrono::seconds(5);

rendezvous::LocalOptions rendezvous_options(const agent::LaunchConfig& config) {
  rendezvous::LocalOptions options;
  options.member = {.role = config.role, .local_world_size = config.local_world_size};
  options.max_restarts = config.max_restarts;
  options.master_addr = config.master_addr;
  options.master_port = config.master_port;
  if (config.serve_legacy_anywhere) options.legacy = store::LegacyClients::always;
  return options;
}

// For the error files of workers: memory before disk, where the user has not chosen.
std::string temp_dir(const agent::Environment& environment) {
  const auto set = environment.find("TMPDIR");
  if (set != environment.end() && !set->second.empty()) return set->second;
  constexpr auto kMemory = "/dev/shm";
  return ::access(kMemory, W_OK | X_OK) == 0 ? kMemory : "/tmp";
}

// Those that the user wants handled, those that programs take as messages, and news of children
// where these matter.
std::set<int> signals_of(const agent::LaunchConfig& config) {
  std::set<int> signals = config.handled_signals;
  signals.insert({SIGUSR1, SIGUSR2});
  const bool is_container_init = ::getpid() == 1;
  if (is_container_init || config.stdin_rank) signals.insert(SIGCHLD);
  return signals;
}

asio::awaitable<void> forward_signals(agent::SignalSource& signals,
                                      agent::PosixProcessRunner& runner,
                                      agent::Agent& agent) {
  while (const int signal = co_await signals.next()) {
    if (signal == SIGCHLD) {
      runner.on_child_signal();
    } else {
      agent.on_signal(signal);
    }
  }
}

// Runs the agent to its end; the loop's signals stop it.
asio::awaitable<agent::Ending> run_agent(agent::AgentContext context,
                                         agent::SignalSource& signals,
                                         agent::PosixProcessRunner& runner) {
  const auto executor = co_await asio::this_coro::executor;
  agent::Console& console = context.console;
  agent::Agent agent(executor, std::move(context));
  base::TaskGroup tasks(
      executor, [&agent](const std::exception_ptr& thrown) { agent.fail(base::error_of(thrown)); });
  tasks.spawn(forward_signals(signals, runner, agent));
  agent::Ending ending = co_await agent.run();
  tasks.stop();
  co_await tasks.join();
  if (!agent.failure_text().empty()) console.write_line(agent.failure_text());
  co_return ending;
}

// Checks what can be checked before anything starts, and runs the job. Returns the exit code.
asio::awaitable<Result<int>> run(const agent::LaunchConfig& config,
                                 agent::Console& console,
                                 base::Logger log) {
  const auto executor = co_await asio::this_coro::executor;
  auto command = agent::resolve_command(config.program, config.environment);
  if (!command) co_return failure(std::move(command.error()));
  auto placements = agent::place_workers(config);
  if (!placements) co_return failure(std::move(placements.error()));
  auto signals = agent::SignalSource::open(executor, signals_of(config));
  if (!signals) co_return failure(std::move(signals.error()));
  auto log_dir = agent::LogDir::create(config.log_dir, temp_dir(config.environment), config.run_id);
  if (!log_dir) co_return failure(std::move(log_dir.error()));

  agent::PosixProcessRunner runner(executor);
  rendezvous::LocalRendezvous local(rendezvous_options(config), log);
  agent::AgentContext context{.config = config,
                              .command = *command,
                              .placements = std::move(*placements),
                              .rendezvous = local,
                              .runner = runner,
                              .console = console,
                              .log_dir = *log_dir,
                              .stdin_is_terminal = ::isatty(STDIN_FILENO) == 1,
                              .log = log};
  const agent::Ending ending = co_await run_agent(std::move(context), **signals, runner);
  const int code = agent::exit_code(ending);
  if (ending.error) log->error("{}", ending.error->message());
  if (const auto kept = log_dir->close(code != 0)) {
    log->warn("error files of the workers are kept in {}", *kept);
  }
  co_return code;
}

asio::awaitable<int> run_and_tell(const agent::LaunchConfig& config) {
  const auto executor = co_await asio::this_coro::executor;
  agent::Console console(executor, STDERR_FILENO);
  const base::Logger log = base::make_logger(
      "rankrun", config.log_level, std::make_shared<agent::ConsoleSink>(executor, console));
  for (const std::string& notice : config.notices) {
    log->warn("{}", notice);
  }
  const Result<int> code = co_await run(config, console, log);
  if (!code) log->error("{}", code.error().message());
  co_await console.close(Clock::now() + kConsoleLimit);
  co_return code ? *code : agent::exit_code(code.error());
}

}  // namespace

int run_job(const agent::LaunchConfig& config) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed console is an error of write, not our end
  try {
    asio::io_context loop(1);
    int code = 1;
    asio::co_spawn(loop, run_and_tell(config), [&code](std::exception_ptr error, int result) {
      if (error) std::rethrow_exception(error);
      code = result;
    });
    loop.run();
    return code;
  } catch (
      const boost::system::system_error& refused) {  // by the system, to a loop or a descriptor
    std::fprintf(
        stderr, "rankrun: error: %s; raise the limit of open files (ulimit -n)\n", refused.what());
    return 1;
  }
}

}  // namespace rankrun::launch
