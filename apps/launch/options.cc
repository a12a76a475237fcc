// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/options.h"

#include "apps/launch/argument_rules.h"
#include "store/base/endpoint.h"
#include "store/base/log.h"
#include "store/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace rankrun::launch {

using agent::Environment;
using agent::LaunchConfig;
using agent::ProgramKind;
using base::failure;
using base::Result;
using base::trimmed;

namespace {

constexpr std::uint16_t kRendezvousPort = 29400;
constexpr int kMostWorkers = 4096;  // per node; more is a typing error

tl::unexpected<base::Error> invalid(const ParsedArguments& arguments,
                                    std::string_view option,
                                    std::string remedy) {
  return failure(base::errc::invalid_value,
                 arguments.source(option) + "=" + arguments.value(option).value_or(""),
                 std::move(remedy));
}

std::optional<std::string> non_empty(const ParsedArguments& arguments, std::string_view option) {
  auto value = arguments.value(option);
  if (value && value->empty()) return std::nullopt;
  return value;
}

// A whole number from `least` up to `most`, or `fallback` when the option is not given.
Result<int> number(const ParsedArguments& arguments,
                   std::string_view option,
                   int fallback,
                   int least,
                   int most = std::numeric_limits<int>::max()) {
  const auto text = arguments.value(option);
  if (!text) return fallback;
  const auto value = parse_python_integer(*text);
  if (value && *value >= least && *value <= most) return static_cast<int>(*value);
  const std::string range = most == std::numeric_limits<int>::max()
                                ? fmt::format("use a whole number from {}", least)
                                : fmt::format("use a whole number from {} to {}", least, most);
  return invalid(arguments, option, range);
}

Result<void> check_nnodes(const ParsedArguments& arguments) {
  const std::string text = arguments.value("nnodes").value_or("1:1");
  const auto colon = text.find(':');
  const auto least = parse_python_integer(std::string_view(text).substr(0, colon));
  const auto most = colon == std::string::npos
                        ? least
                        : parse_python_integer(std::string_view(text).substr(colon + 1));
  if (!least || !most || *least < 1 || *most < *least) {
    return invalid(arguments, "nnodes", "use N or MIN:MAX with 1 <= MIN <= MAX");
  }
  if (*most > 1) {
    return invalid(arguments,
                   "nnodes",
                   "several nodes are not supported yet; use --nnodes=1, or torchrun for this job");
  }
  return {};
}

// GPUs that CUDA would see: the device list, when there is one, up to its first invalid entry.
int visible_gpus(const Environment& environment, const HostFacts& host) {
  const auto list = environment.find("CUDA_VISIBLE_DEVICES");
  if (list == environment.end() || host.gpus == 0) return host.gpus;
  int count = 0;
  std::string_view rest = list->second;
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string_view entry = rest.substr(0, comma);
    if (entry.empty() || entry.find('-') == 0) break;
    ++count;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return std::min(count, host.gpus);
}

Result<int> workers_per_node(const ParsedArguments& arguments,
                             const Environment& environment,
                             const HostFacts& host) {
  const std::string text = arguments.value("nproc-per-node").value_or("1");
  const int gpus = visible_gpus(environment, host);
  if (text == "cpu") return host.usable_cpus;
  if (text == "auto") return gpus > 0 ? gpus : host.usable_cpus;
  if (text == "gpu") {
    if (gpus > 0) return gpus;
    return failure(
        {}, arguments.source("nproc-per-node") + "=gpu: no GPU found", "use a number, cpu or auto");
  }
  const auto value = parse_python_integer(text);
  if (value && *value >= 1 && *value <= kMostWorkers) return static_cast<int>(*value);
  return invalid(
      arguments,
      "nproc-per-node",
      fmt::format("use a number of workers from 1 to {}, auto, cpu or gpu", kMostWorkers));
}

Result<std::string> backend(const ParsedArguments& arguments) {
  if (arguments.has("standalone")) return std::string("c10d");
  std::string name = arguments.value("rdzv-backend").value_or("static");
  if (name == "static" || name == "c10d") return name;
  if (name == "etcd" || name == "etcd-v2") {
    return invalid(arguments, "rdzv-backend", "etcd is not supported yet; use c10d or static");
  }
  return invalid(arguments, "rdzv-backend", "use c10d or static");
}

// What the command line itself sets; torchrun refuses them here, too.
bool is_reserved(std::string_view key) {
  constexpr std::array<std::string_view, 6> kReserved = {
      "backend", "endpoint", "run_id", "min_nodes", "max_nodes", "local_addr"};
  return std::find(kReserved.begin(), kReserved.end(), key) != kReserved.end();
}

Result<void> check_rdzv_conf(const ParsedArguments& arguments) {
  const std::string text = arguments.value("rdzv-conf").value_or("");
  if (trimmed(text).empty()) return {};
  std::string_view rest = text;
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view entry = rest.substr(0, comma);
    if (more) rest.remove_prefix(comma + 1);
    const auto equals = entry.find('=');
    const std::string_view key = trimmed(entry.substr(0, equals));
    const bool has_value =
        equals != std::string_view::npos && !trimmed(entry.substr(equals + 1)).empty();
    if (is_reserved(key)) {
      return invalid(arguments, "rdzv-conf", "these have options of their own, as --rdzv-endpoint");
    }
    if (key.empty() || !has_value) {
      return invalid(arguments, "rdzv-conf", "write key=value,key=value");
    }
  }
  return {};
}

Result<std::string> run_id(const ParsedArguments& arguments,
                           std::string_view backend_name,
                           const HostFacts& host) {
  const bool is_standalone = arguments.has("standalone");
  // What torchrun does with a bare `torchrun script.py`: c10d under a random id.
  const bool is_bare = backend_name == "static" && !non_empty(arguments, "rdzv-endpoint") &&
                       !arguments.has("master-port");
  const auto id = arguments.value("rdzv-id");
  if (is_standalone || (is_bare && !id)) return host.random_id;
  if (id && id->empty()) return invalid(arguments, "rdzv-id", "give the job a name");
  return id.value_or("none");
}

// Where the workers' store listens: static takes the endpoint, else the addresses given.
Result<base::Endpoint> master(const ParsedArguments& arguments, std::string_view backend_name) {
  base::Endpoint master{"127.0.0.1", 0};
  if (const auto text = arguments.value("master-port")) {
    const auto port = parse_python_integer(*text);
    if (!port || *port < 0 || *port > 65535) {
      return invalid(arguments, "master-port", "use a port from 0 (a free one) to 65535");
    }
    master.port = static_cast<std::uint16_t>(*port);
  }
  const auto endpoint =
      arguments.has("standalone") ? std::nullopt : non_empty(arguments, "rdzv-endpoint");
  if (endpoint) {
    const bool is_static = backend_name == "static";
    const auto default_port = !is_static                     ? std::optional(kRendezvousPort)
                              : arguments.has("master-port") ? std::optional(master.port)
                                                             : std::nullopt;
    auto parsed = base::parse_endpoint(*endpoint, default_port);
    if (!parsed) return failure(parsed.error().within(arguments.source("rdzv-endpoint")));
    if (is_static) return *parsed;
  }
  auto address = non_empty(arguments, "master-addr");
  if (!address) address = non_empty(arguments, "local-addr");
  if (!address) return master;
  const auto colons = std::count(address->begin(), address->end(), ':');
  if (colons == 1) {
    return failure(base::errc::invalid_value,
                   "--master-addr or --local-addr '" + *address + "'",
                   "give the port to --master-port");
  }
  const bool is_plain_v6 = colons > 1 && address->front() != '[';
  auto parsed = base::parse_endpoint(is_plain_v6 ? "[" + *address + "]" : *address, master.port);
  if (!parsed) return failure(parsed.error().within("--master-addr or --local-addr"));
  return parsed;
}

Result<std::chrono::seconds> shutdown_timeout(const ParsedArguments& arguments,
                                              const Environment& environment) {
  constexpr int kDefault = 30;
  const auto variable = environment.find("TORCH_ELASTIC_SHUTDOWN_TIMEOUT");
  int fallback = kDefault;
  if (variable != environment.end() && !arguments.has("shutdown-timeout")) {
    const auto value = parse_python_integer(variable->second);
    constexpr int kMost = std::numeric_limits<int>::max();
    if (!value || *value < 0 || *value > kMost) {
      return failure(base::errc::invalid_value,
                     "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=" + variable->second,
                     "use seconds from 0");
    }
    fallback = static_cast<int>(*value);
  }
  const auto seconds = number(arguments, "shutdown-timeout", fallback, 0);
  if (!seconds) return failure(seconds.error());
  return std::chrono::seconds(*seconds);
}

Result<void> check_monitor_interval(const ParsedArguments& arguments) {
  const auto text = arguments.value("monitor-interval");
  if (!text) return {};
  std::string_view digits = trimmed(*text);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double seconds = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (error == std::errc() && end == digits.data() + digits.size() && seconds > 0 &&
      std::isfinite(seconds)) {
    return {};
  }
  return invalid(arguments, "monitor-interval", "use seconds above 0");
}

Result<agent::Program> program(const ParsedArguments& arguments) {
  agent::Program program;
  const bool is_module = arguments.has("module");
  if (is_module && arguments.has("no-python")) {
    return failure({}, "--module and --no-python exclude each other", "give one of them");
  }
  if (!arguments.program || arguments.program->empty()) {
    return failure({}, "no program given", "see rankrun --help");
  }
  program.name = *arguments.program;
  program.arguments = arguments.program_arguments;
  if (is_module) program.kind = ProgramKind::python_module;
  if (arguments.has("no-python")) program.kind = ProgramKind::executable;
  return program;
}

// Copies a parsed value into its place, or keeps the first error.
class Fields {
 public:
  template <typename T, typename U>
  void set(T& place, Result<U> value) {
    if (value) {
      place = std::move(*value);
    } else if (!error_) {
      error_ = std::move(value.error());
    }
  }
  template <typename T>
  void check(Result<T> result) {
    if (!result && !error_) error_ = std::move(result.error());
  }
  const std::optional<base::Error>& error() const { return error_; }

 private:
  std::optional<base::Error> error_;
};

Result<LaunchConfig> launch_config(const ParsedArguments& arguments,
                                   const Environment& environment,
                                   const HostFacts& host) {
  LaunchConfig config;
  config.environment = environment;
  config.role = arguments.value("role").value_or(config.role);
  config.log_dir = non_empty(arguments, "log-dir");
  config.serve_legacy_anywhere = arguments.has("legacy");

  Fields fields;
  std::string backend_name;
  base::Endpoint endpoint;
  fields.set(config.program, program(arguments));
  fields.check(check_nnodes(arguments));
  fields.set(config.local_world_size, workers_per_node(arguments, environment, host));
  fields.set(config.max_restarts, number(arguments, "max-restarts", 0, 0));
  fields.check(check_monitor_interval(arguments));
  fields.set(backend_name, backend(arguments));
  fields.check(check_rdzv_conf(arguments));
  fields.set(config.run_id, run_id(arguments, backend_name, host));
  fields.set(endpoint, master(arguments, backend_name));
  fields.check(number(arguments, "node-rank", 0, 0, 0));
  fields.set(config.shutdown_timeout, shutdown_timeout(arguments, environment));
  if (const auto level = environment.find("LOGLEVEL"); level != environment.end()) {
    fields.set(config.log_level, base::parse_log_level(level->second));
  }
  if (fields.error()) return failure(*fields.error());
  config.master_addr = endpoint.host;
  config.master_port = endpoint.port;
  return config;
}

}  // namespace

Result<Invocation> parse_invocation(std::span<const std::string> arguments,
                                    const Environment& environment,
                                    const HostFacts& host) {
  auto parsed = apply_argument_rules(arguments, environment);
  if (!parsed) return failure(std::move(parsed.error()));
  if (parsed->has("help")) return Invocation(PrintText{help_text()});
  if (parsed->has("version")) return Invocation(PrintText{"rankrun " RANKRUN_VERSION "\n"});
  auto config = launch_config(*parsed, environment, host);
  if (!config) return failure(std::move(config.error()));
  return Invocation(std::move(*config));
}

}  // namespace rankrun::launch
