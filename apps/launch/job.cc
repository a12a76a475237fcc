// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/job.h"

#include "agent/agent.h"
#include "agent/console_sink.h"
#include "agent/containment.h"
#include "agent/exit_code.h"
#include "agent/health.h"
#include "agent/keeper.h"
#include "agent/placement.h"
#include "agent/precedence.h"
#include "agent/process_posix.h"
#include "agent/report_delivery.h"
#include "agent/signals.h"
#include "agent/watchdog.h"
#include "rendezvous/local.h"
#include "store/base/async.h"
#include "store/base/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace rankrun::launch {

using base::Clock;
using base::failure;
using base::Result;
namespace asio = boost::asio;

namespace {

// The rest of the output is given up when a console takes nothing for this long.
constexpr base::Duration kConsolePatience = std::chrono::seconds(5);

rendezvous::LocalOptions rendezvous_options(const agent::LaunchConfig& config) {
  rendezvous::LocalOptions options;
  options.member = {.role = config.role, .local_world_size = config.local_world_size};
  options.max_restarts = config.max_restarts;
  options.master_addr = config.master_addr;
  options.master_port = config.master_port;
  if (config.serve_legacy_anywhere) options.legacy = store::LegacyClients::always;
  return options;
}

// Where the user has not chosen: memory before disk for the small error files of workers, but not
// for their output.
std::string temp_dir(const agent::LaunchConfig& config) {
  std::string set = agent::value_of(config.environment, "TMPDIR").value_or("");
  if (!set.empty()) return set;
  if (!config.output.tee.empty() || !config.output.redirects.empty()) return "/tmp";
  constexpr auto kMemory = "/dev/shm";
  return ::access(kMemory, W_OK | X_OK) == 0 ? kMemory : "/tmp";
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

agent::JobFacts job_facts(const agent::LaunchConfig& config) {
  agent::JobFacts job;
  job.program = config.program.name;
  job.run_id = config.run_id;
  job.role = config.role;
  job.host = host_name();
  job.pid = ::getpid();
  job.local_world_size = config.local_world_size;
  job.max_restarts = config.max_restarts;
  job.started = Clock::now();
  job.started_at = std::chrono::system_clock::now();
  return job;
}

agent::EventTargets event_targets(const agent::LaunchConfig& config, agent::Consoles& consoles) {
  agent::EventTargets targets;
  if (config.events_on_console) targets.torchrun_form = &consoles.err.console();
  if (config.events_file == "-") {
    targets.own_form = &consoles.of(agent::Stream::out).console();
  } else {
    targets.path = config.events_file.value_or("");
  }
  return targets;
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

// Null when nobody asked for it, or when it cannot be: then the job does without.
std::unique_ptr<agent::HealthServer> start_health_check(const agent::LaunchConfig& config,
                                                        const asio::any_io_executor& executor,
                                                        const agent::Agent& agent,
                                                        const base::Logger& log) {
  if (!config.health) return nullptr;
  agent::HealthOptions options{.endpoint = *config.health, .run_id = config.run_id};
  auto server = agent::HealthServer::start(
      std::move(options), executor, [&agent] { return agent.health(); }, log);
  if (!server) {
    log->warn("{}", server.error().message());
    return nullptr;
  }
  log->info("health check on http://{}/healthz", base::to_string((*server)->endpoint()));
  return std::move(*server);
}

// Runs the agent to its end; the loop's signals stop it.
asio::awaitable<agent::JobReport> run_agent(agent::AgentContext context,
                                            agent::SignalSource& signals,
                                            agent::PosixProcessRunner& runner,
                                            agent::Keeper& keeper) {
  const auto executor = co_await asio::this_coro::executor;
  const base::Logger log = context.log;
  const agent::LaunchConfig& config = context.config;
  agent::Watchdog* const watchdog = context.watchdog;
  agent::Agent agent(executor, std::move(context));
  const auto health = start_health_check(config, executor, agent, log);
  base::TaskGroup tasks(
      executor, [&agent](const std::exception_ptr& thrown) { agent.fail(base::error_of(thrown)); });
  tasks.spawn(forward_signals(signals, runner, agent));
  tasks.spawn(keeper.replace_when_ended(log));
  if (watchdog != nullptr) tasks.spawn(watchdog->run());
  co_await agent.run();
  tasks.stop();
  co_await tasks.join();
  keeper.dismiss();
  co_return agent.report();
}

// What a run writes to; belongs to run_and_tell.
struct Outlets {
  agent::Consoles& consoles;
  agent::EventLog& events;
  std::optional<agent::LogDir>& log_dir;  // made by the run
  base::Logger log;
};

// Null when nobody asked for it.
Result<std::unique_ptr<agent::Watchdog>> open_watchdog(const agent::LaunchConfig& config,
                                                       const asio::any_io_executor& executor,
                                                       const base::Logger& log) {
  if (!config.timer_file) return nullptr;
  return agent::Watchdog::open(executor, *config.timer_file, log);
}

// Checks what can be checked before anything starts, and runs the job. Fails when nothing was
// started.
asio::awaitable<Result<agent::JobReport>> run(const agent::LaunchConfig& config,
                                              agent::JobFacts& job,
                                              agent::SignalSource& signals,
                                              const Outlets& outlets) {
  const auto executor = co_await asio::this_coro::executor;
  auto command = agent::resolve_command(config.program, config.environment);
  if (!command) co_return failure(std::move(command.error()));
  job.interpreter = command->interpreter;
  auto placements = agent::place_workers(config);
  if (!placements) co_return failure(std::move(placements.error()));
  auto log_dir = agent::LogDir::create(config.log_dir, temp_dir(config), config.run_id);
  if (!log_dir) co_return failure(std::move(log_dir.error()));
  outlets.log_dir.emplace(std::move(*log_dir));
  auto watchdog = open_watchdog(config, executor, outlets.log);
  if (!watchdog) co_return failure(std::move(watchdog.error()));

  auto containment =
      agent::Containment::create(config.cgroup, config.memory_max.has_value(), outlets.log);
  if (!containment) co_return failure(std::move(containment.error()));
  agent::take_precedence();
  auto keeper = agent::Keeper::start(executor, containment->marks());
  if (!keeper) co_return failure(std::move(keeper.error()));
  auto opened = containment->open_attempt();
  if (!opened) co_return failure(std::move(opened.error()));
  outlets.log->info("what workers leave behind is found by {}", containment->describe());

  agent::PosixProcessRunner runner(executor, *containment);
  rendezvous::LocalRendezvous local(rendezvous_options(config), outlets.log);
  agent::AgentContext context{.config = config,
                              .command = *command,
                              .placements = std::move(*placements),
                              .rendezvous = local,
                              .runner = runner,
                              .consoles = outlets.consoles,
                              .log_dir = *outlets.log_dir,
                              .stdin_is_terminal = ::isatty(STDIN_FILENO) == 1,
                              .job = job,
                              .events = outlets.events,
                              .log = outlets.log,
                              .watchdog = watchdog->get()};
  co_return co_await run_agent(std::move(context), signals, runner, *keeper);
}

agent::JobReport report_not_started(const agent::JobFacts& job,
                                    const base::Error& error,
                                    agent::ExitCodeStyle style) {
  agent::JobReport report;
  report.job = job;
  report.ending.error = error;
  report.exit_code = agent::exit_code(error, style);
  report.took = Clock::now() - job.started;
  return report;
}

// Shows the last output and the report, which is the last of all.
asio::awaitable<void> finish(const agent::LaunchConfig& config,
                             const agent::JobReport& report,
                             const Outlets& outlets) {
  agent::ConsoleFeed& err = outlets.consoles.err;
  co_await outlets.consoles.out.close(kConsolePatience);
  const bool lost_some = outlets.consoles.out.has_stalled();
  if (lost_some) {
    outlets.log->warn("stdout took nothing for 5 s: what it should still show is lost");
  }
  std::optional<std::string> kept;
  const bool keeps = lost_some || report.exit_code != 0;
  if (outlets.log_dir && keeps) kept = outlets.log_dir->close(true);
  if (kept) outlets.log->warn("log and error files of the workers are kept in {}", *kept);
  agent::deliver(report, config, err.console(), outlets.log);
  co_await err.close(kConsolePatience);
  if (outlets.log_dir && !keeps) outlets.log_dir->close(err.has_stalled());
}

asio::awaitable<void> give_up_on_signal(agent::SignalSource& signals, agent::Consoles& consoles) {
  while (const int signal = co_await signals.next()) {
    if (agent::is_stop_signal(signal)) consoles.give_up();
  }
}

// The end may take long on a slow console; a stop signal ends that, too.
asio::awaitable<void> finish_unless_stopped(const agent::LaunchConfig& config,
                                            const agent::JobReport& report,
                                            const Outlets& outlets,
                                            agent::SignalSource& signals) {
  agent::Consoles& consoles = outlets.consoles;
  base::TaskGroup tasks(co_await asio::this_coro::executor,
                        [&consoles](const std::exception_ptr&) { consoles.give_up(); });
  tasks.spawn(give_up_on_signal(signals, consoles));
  co_await finish(config, report, outlets);
  tasks.stop();
  co_await tasks.join();
}

asio::awaitable<int> run_and_tell(const agent::LaunchConfig& config, agent::SignalSource& signals) {
  const auto executor = co_await asio::this_coro::executor;
  agent::Consoles consoles(executor, config.output.fold, STDOUT_FILENO, STDERR_FILENO);
  const base::Logger log =
      base::make_logger("rankrun",
                        config.log_level,
                        std::make_shared<agent::ConsoleSink>(executor, consoles.err.console()));
  for (const std::string& notice : config.notices) {
    log->warn("{}", notice);
  }
  agent::JobFacts job = job_facts(config);
  agent::EventLog events(job, event_targets(config, consoles), log);
  std::optional<agent::LogDir> log_dir;
  const Outlets outlets{consoles, events, log_dir, log};
  auto report = co_await run(config, job, signals, outlets);
  if (!report) report = report_not_started(job, report.error(), config.exit_code_style);
  events.write(agent::change::JobEnded{report->result(), report->exit_code, report->reason()});
  co_await finish_unless_stopped(config, *report, outlets, signals);
  co_return report->exit_code;
}

}  // namespace

int run_job(const agent::LaunchConfig& config) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed console is an error of write, not our end
  std::signal(SIGXFSZ, SIG_IGN);  // so is a log file that is as long as the user's limit allows
  try {
    asio::io_context loop(1);
    auto signals = agent::SignalSource::open(loop.get_executor(), signals_of(config));
    if (!signals) {
      std::fprintf(stderr, "rankrun: error: %s\n", signals.error().message().c_str());
      return agent::exit_code(signals.error(), config.exit_code_style);
    }
    int code = 1;
    asio::co_spawn(
        loop, run_and_tell(config, **signals), [&code](std::exception_ptr error, int result) {
          if (error) std::rethrow_exception(error);
          code = result;
        });
    loop.run();
    return code;
  } catch (const boost::system::system_error& refused) {
    // By the system, to a loop; anything else is a bug, which main tells of.
    if (refused.code() != boost::system::errc::too_many_files_open) throw;
    std::fprintf(
        stderr, "rankrun: error: %s; raise the limit of open files (ulimit -n)\n", refused.what());
    return 1;
  }
}

}  // namespace rankrun::launch
