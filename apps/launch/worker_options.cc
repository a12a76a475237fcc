// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/worker_options.h"

#include "apps/launch/option_values.h"
#include "apps/launch/python_numbers.h"
#include "store/base/text.h"

#include <fmt/format.h>

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

namespace rankrun::launch {

using agent::LaunchConfig;
using agent::NumaBinding;
using agent::ProgramKind;
using base::failure;
using base::Result;

namespace {

constexpr int kMostWorkers = 4096;  // per node; more is a typing error
constexpr std::string_view kDefaultSignals = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";

Result<agent::Program> program(const ParsedArguments& arguments) {
  agent::Program program;
  const bool is_script = arguments.has("run-path");
  if (!is_script && arguments.has("module") && arguments.has("no-python")) {
    return failure({}, "--module and --no-python exclude each other", "give one of them");
  }
  program.name = arguments.program.value_or("");
  if (program.name.empty()) return failure({}, "the program's name is empty", "name a program");
  program.arguments = arguments.program_arguments;
  if (arguments.has("torch-launch") && !arguments.has("use-env")) {
    program.arguments.insert(program.arguments.begin(), "--local-rank=${local_rank}");
  }
  if (!is_script && arguments.has("module")) program.kind = ProgramKind::python_module;
  if (!is_script && arguments.has("no-python")) program.kind = ProgramKind::executable;
  return program;
}

// Workers that a word of --nproc-per-node stands for, and how their number was found.
struct FoundWorkers {
  int count = 0;
  std::string how;
};

Result<FoundWorkers> found_workers(const std::string& source,
                                   std::string_view word,
                                   const HostFacts& host) {
  const auto per_core = [&host](const std::string& why = {}) {
    const CpuCount cpus = host.usable_cpus();
    return FoundWorkers{cpus.usable, "one per usable core: " + cpus.how + why};
  };
  if (word == "cpu") return per_core();
  const DeviceCount gpus = host.visible_gpus();
  if (gpus.visible > 0) return FoundWorkers{gpus.visible, "one per GPU: " + gpus.how};
  if (word == "auto") return per_core("; no GPU: " + gpus.how);
  return failure({},
                 fmt::format("{}={}: no GPU found ({})", source, word, gpus.how),
                 "use a number, cpu or auto");
}

Result<int> workers_per_node(const ParsedArguments& arguments,
                             const HostFacts& host,
                             std::vector<std::string>& notices) {
  constexpr std::string_view kOption = "nproc-per-node";
  const std::string text = arguments.value(kOption).value_or("1");
  const auto number = parse_python_integer(text);
  if (number && *number >= 1 && *number <= kMostWorkers) return static_cast<int>(*number);
  if (text == "xpu") {
    return invalid(arguments, kOption, "rankrun cannot count Intel GPUs; use a number");
  }
  if (text != "cpu" && text != "auto" && text != "gpu") {
    return invalid(
        arguments,
        kOption,
        fmt::format("use a number of workers from 1 to {}, auto, cpu or gpu", kMostWorkers));
  }
  const std::string source = arguments.source(kOption);
  auto found = found_workers(source, text, host);
  if (!found) return failure(std::move(found.error()));
  notices.push_back(fmt::format("{}={}: {} {}, {}",
                                source,
                                text,
                                found->count,
                                found->count == 1 ? "worker" : "workers",
                                found->how));
  return found->count;
}

Result<std::optional<int>> threads(const ParsedArguments& arguments,
                                   const HostFacts& host,
                                   int local_world_size) {
  if (arguments.value("threads") != "auto") return whole_number(arguments, "threads", 1);
  return std::optional(std::max(1, host.usable_cpus().usable / local_world_size));
}

std::optional<NumaBinding> numa_binding(const ParsedArguments& arguments) {
  const auto word = arguments.value("numa-binding");
  if (!word) return std::nullopt;
  if (*word == "node") return NumaBinding::node;
  if (*word == "socket") return NumaBinding::socket;
  return *word == "exclusive" ? NumaBinding::exclusive : NumaBinding::core_complex;
}

agent::CgroupUse cgroup_use(const ParsedArguments& arguments) {
  const auto word = arguments.value("cgroup");
  if (word == "required") return agent::CgroupUse::required;
  return word == "off" ? agent::CgroupUse::off : agent::CgroupUse::automatic;
}

// "512M": suffixes are powers of 1024, as for systemd and Slurm.
Result<std::optional<std::uint64_t>> memory_max(const ParsedArguments& arguments) {
  const auto text = non_empty(arguments, "memory-max");
  if (!text) return std::optional<std::uint64_t>();
  constexpr std::string_view kSuffixes = "KMGT";
  const auto suffix = kSuffixes.find(text->back());
  const bool has_suffix = suffix != std::string_view::npos;
  const auto number = parse_python_integer(text->substr(0, text->size() - (has_suffix ? 1 : 0)));
  const std::size_t shift = has_suffix ? 10 * (suffix + 1) : 0;
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  constexpr std::uint64_t kLeast = 1 << 20;  // below, not even a program can be executed
  if (number && *number >= 1 && *number <= kMost >> shift) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(*number) << shift;
    if (bytes >= kLeast) return std::optional(bytes);
  }
  return invalid(
      arguments, "memory-max", "use a number of bytes from 1M, with K, M, G or T behind it");
}

// Each worker takes one entry of the device list, so the list must be long enough.
Result<void> check_device_list(const LaunchConfig& config) {
  const auto list = agent::value_of(config.environment, "CUDA_VISIBLE_DEVICES");
  if (!config.virtual_local_rank || !list) return {};
  int devices = 0;
  for (const std::string_view entry : base::split(*list, ',')) {
    const std::string_view device = base::trimmed(entry);
    if (device.empty() || device.front() == '-') break;  // CUDA reads no further
    ++devices;
  }
  if (devices >= config.local_world_size) return {};
  return failure({},
                 fmt::format("--virtual-local-rank: CUDA_VISIBLE_DEVICES={} names fewer devices "
                             "than the {} workers",
                             *list,
                             config.local_world_size),
                 "name one device per worker, or start fewer workers");
}

// The number of "SIGTERM" or "TERM"; 0 when there is none.
int signal_number(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* const known = ::sigabbrev_np(signal);
    if (known != nullptr && name == known) return signal;
  }
  return 0;
}

// Why a signal cannot be handled; empty when it can.
std::string_view why_not_handled(int signal) {
  switch (signal) {
    case 0:
      return "is no signal; write names as SIGTERM,SIGUSR1";
    case SIGKILL:
    case SIGSTOP:
      return "cannot be caught by any program; leave it out";
    case SIGCHLD:
      return "tells rankrun of the end of its workers; leave it out";
    default:
      return "";
  }
}

Result<std::set<int>> handled_signals(const ParsedArguments& arguments, std::string_view text) {
  std::set<int> signals;
  for (const std::string_view piece : base::split(text, ',')) {
    const std::string_view name = base::trimmed(piece);
    const int signal = signal_number(name);
    const std::string_view why_not = why_not_handled(signal);
    if (!why_not.empty()) {
      return invalid(arguments, "signals-to-handle", fmt::format("'{}' {}", name, why_not));
    }
    signals.insert(signal);
  }
  return signals;
}

Result<std::optional<int>> shutdown_timeout(const ParsedArguments& arguments,
                                            const agent::Environment& environment) {
  const auto variable = environment.find("TORCH_ELASTIC_SHUTDOWN_TIMEOUT");
  if (arguments.has("shutdown-timeout") || variable == environment.end()) {
    return whole_number(arguments, "shutdown-timeout", 0);
  }
  const auto seconds = parse_python_integer(variable->second);
  constexpr int kMost = std::numeric_limits<int>::max();
  if (seconds && *seconds >= 0 && *seconds <= kMost) {
    return std::optional(static_cast<int>(*seconds));
  }
  return failure(base::errc::invalid_value,
                 "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=" + variable->second,
                 "use seconds from 0");
}

Result<void> check_monitor_interval(const ParsedArguments& arguments) {
  const auto text = arguments.value("monitor-interval");
  if (!text) return {};
  const auto seconds = parse_python_number(*text);
  if (seconds && *seconds > 0 && std::isfinite(*seconds)) return {};
  return invalid(arguments, "monitor-interval", "use seconds above 0");
}

}  // namespace

Result<void> apply_worker_options(const ParsedArguments& arguments,
                                  const HostFacts& host,
                                  LaunchConfig& config) {
  config.role = arguments.value("role").value_or(config.role);
  config.numa_binding = numa_binding(arguments);
  config.cgroup = cgroup_use(arguments);
  config.virtual_local_rank = arguments.has("virtual-local-rank");

  Fields fields;
  fields.set(config.program, program(arguments));
  fields.set(config.local_world_size, workers_per_node(arguments, host, config.notices));
  fields.set(config.threads, threads(arguments, host, config.local_world_size));
  fields.set(config.memory_max, memory_max(arguments));
  fields.set(config.stdin_rank,
             whole_number(arguments, "stdin-rank", 0, config.local_world_size - 1));
  fields.check(check_device_list(config));
  return fields.result();
}

Result<void> apply_ending_options(const ParsedArguments& arguments, LaunchConfig& config) {
  const std::string signals =
      arguments.value("signals-to-handle").value_or(std::string(kDefaultSignals));
  config.environment.insert_or_assign("TORCHELASTIC_SIGNALS_TO_HANDLE", signals);
  if (arguments.value("on-term") == "notify") config.on_term = agent::OnTerm::notify;

  Fields fields;
  fields.set_given(config.max_restarts, whole_number(arguments, "max-restarts", 0));
  fields.set_given(config.hang_timeout, seconds(arguments, "hang-timeout"));
  fields.set_given(config.restart_delay, seconds(arguments, "restart-delay"));
  fields.set_given(config.max_same_failure, whole_number(arguments, "max-same-failure", 0));
  fields.check(check_monitor_interval(arguments));
  fields.set(config.handled_signals, handled_signals(arguments, signals));
  fields.set_given(config.shutdown_timeout, shutdown_timeout(arguments, config.environment));
  return fields.result();
}

}  // namespace rankrun::launch
