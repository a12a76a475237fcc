// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/rendezvous_options.h"

#include "apps/launch/option_values.h"
#include "apps/launch/python_numbers.h"
#include "store/base/endpoint.h"
#include "store/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

namespace rankrun::launch {

using base::failure;
using base::Result;
using base::trimmed;

namespace {

constexpr std::uint16_t kRendezvousPort = 29400;

bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Result<void> check_nnodes(const ParsedArguments& arguments) {
  const std::string text = arguments.value("nnodes").value_or("1:1");
  const auto parts = base::split(text, ':');
  const auto least = parse_python_integer(parts.front());
  const auto most = parse_python_integer(parts.back());
  if (parts.size() > 2 || !least || !most || *least < 1 || *most < *least) {
    return invalid(arguments, "nnodes", "use N or MIN:MAX with 1 <= MIN <= MAX");
  }
  if (*most > 1) {
    return invalid(arguments,
                   "nnodes",
                   "several nodes are not supported yet; use --nnodes=1, or torchrun for this job");
  }
  return {};
}

bool is_boolean(std::string_view text) {
  constexpr std::array<std::string_view, 10> kBooleans = {
      "1", "true", "t", "yes", "y", "0", "false", "f", "no", "n"};
  std::string word(text);
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return contains(kBooleans, word);
}

// What a known key's value should be instead; nothing when it is right or the key is not known.
std::string_view remedy_of(std::string_view key, std::string_view value) {
  constexpr std::array<std::string_view, 8> kPositive = {"join_timeout",
                                                         "last_call_timeout",
                                                         "close_timeout",
                                                         "heartbeat_timeout",
                                                         "keep_alive_interval",
                                                         "keep_alive_max_attempt",
                                                         "read_timeout",
                                                         "timeout"};
  constexpr std::array<std::string_view, 2> kBoolean = {"is_host", "use_libuv"};
  if (contains(kPositive, key)) {
    return parse_python_integer(value).value_or(0) > 0 ? "" : "use a whole number from 1";
  }
  if (contains(kBoolean, key)) return is_boolean(value) ? "" : "use true or false";
  if (key == "store_type") {
    return value == "tcp" ? "" : "leave it out: rankrun serves its store over TCP";
  }
  return "";
}

// What the command line itself sets; torchrun refuses them here, too.
bool is_reserved(std::string_view key) {
  constexpr std::array<std::string_view, 6> kReserved = {
      "backend", "endpoint", "run_id", "min_nodes", "max_nodes", "local_addr"};
  return contains(kReserved, key);
}

Result<void> check_rdzv_conf(const ParsedArguments& arguments) {
  const std::string text = arguments.value("rdzv-conf").value_or("");
  if (trimmed(text).empty()) return {};
  std::map<std::string_view, std::string_view> entries;  // the last of several wins
  for (const std::string_view entry : base::split(text, ',')) {
    const auto equals = std::min(entry.find('='), entry.size());
    const std::string_view key = trimmed(entry.substr(0, equals));
    const std::string_view value = trimmed(entry.substr(std::min(equals + 1, entry.size())));
    if (is_reserved(key)) {
      return invalid(arguments, "rdzv-conf", "these have options of their own, as --rdzv-endpoint");
    }
    if (key.empty() || value.empty()) {
      return invalid(arguments, "rdzv-conf", "write key=value,key=value");
    }
    entries[key] = value;
  }
  for (const auto& [key, value] : entries) {
    const std::string_view remedy = remedy_of(key, value);
    if (remedy.empty()) continue;
    return failure(base::errc::invalid_value,
                   fmt::format("{}: {}={}", arguments.source("rdzv-conf"), key, value),
                   std::string(remedy));
  }
  return {};
}

// What torchrun does with a bare `torchrun script.py`: c10d under a random id.
bool is_bare(const ParsedArguments& arguments, std::string_view backend) {
  return backend == "static" && !non_empty(arguments, "rdzv-endpoint") &&
         !arguments.has("master-port");
}

Result<std::string> backend_of(const ParsedArguments& arguments) {
  if (arguments.has("standalone")) return std::string("c10d");
  return literal_word(arguments, "rdzv-backend", "static");
}

std::string run_id(const ParsedArguments& arguments,
                   std::string_view backend,
                   const std::string& random_id) {
  if (arguments.has("standalone")) return random_id;
  const std::string unset = is_bare(arguments, backend) ? "" : "none";
  const std::string id = arguments.value("rdzv-id").value_or(unset);
  return id.empty() ? random_id : id;
}

Result<base::Endpoint> address_of_this_host(const ParsedArguments& arguments, std::uint16_t port) {
  const bool has_master = non_empty(arguments, "master-addr").has_value();
  const std::string_view option = has_master ? "master-addr" : "local-addr";
  const auto address = non_empty(arguments, option);
  if (!address) return base::Endpoint{"127.0.0.1", port};
  const auto colons = std::count(address->begin(), address->end(), ':');
  if (colons == 1) return invalid(arguments, option, "give the port to --master-port");
  const bool is_plain_v6 = colons > 1 && address->front() != '[';
  auto parsed = base::parse_endpoint(is_plain_v6 ? "[" + *address + "]" : *address, port);
  if (!parsed) return failure(parsed.error().within(arguments.source(option)));
  return parsed;
}

// Where the workers' store listens: static takes the endpoint, else the addresses given.
Result<base::Endpoint> master(const ParsedArguments& arguments, std::string_view backend) {
  std::uint16_t port = 0;
  if (arguments.has("master-port")) {
    const auto given = whole_number(arguments, "master-port", 0, 65535);
    if (!given) return failure(given.error());
    port = static_cast<std::uint16_t>(given->value_or(0));
  }
  const auto endpoint =
      arguments.has("standalone") ? std::nullopt : non_empty(arguments, "rdzv-endpoint");
  if (!endpoint) return address_of_this_host(arguments, port);
  const bool is_static = backend == "static";
  const auto default_port = !is_static                     ? std::optional(kRendezvousPort)
                            : arguments.has("master-port") ? std::optional(port)
                                                           : std::nullopt;
  auto parsed = base::parse_endpoint(*endpoint, default_port);
  if (!parsed) return failure(parsed.error().within(arguments.source("rdzv-endpoint")));
  if (is_static) return parsed;
  return address_of_this_host(arguments, port);
}

// Only static ranks nodes by it, and one node has rank 0.
Result<void> check_node_rank(const ParsedArguments& arguments,
                             std::string_view backend,
                             std::vector<std::string>& notices) {
  if (!arguments.has("node-rank")) return {};
  const auto rank = whole_number(arguments, "node-rank", 0, 0);
  if (rank) return {};
  if (backend == "static" && !is_bare(arguments, backend)) return failure(rank.error());
  notices.push_back(fmt::format("{}={} is ignored: only --rdzv-backend=static ranks nodes by it",
                                arguments.source("node-rank"),
                                *arguments.value("node-rank")));
  return {};
}

}  // namespace

Result<void> apply_rendezvous_options(const ParsedArguments& arguments,
                                      const std::string& random_id,
                                      agent::LaunchConfig& config) {
  const auto backend = backend_of(arguments);
  if (!backend) return failure(backend.error());
  base::Endpoint endpoint;
  Fields fields;
  fields.check(check_nnodes(arguments));
  fields.check(check_rdzv_conf(arguments));
  fields.check(check_node_rank(arguments, *backend, config.notices));
  config.run_id = run_id(arguments, *backend, random_id);
  fields.set(endpoint, master(arguments, *backend));
  config.master_addr = endpoint.host;
  config.master_port = endpoint.port;
  return fields.result();
}

}  // namespace rankrun::launch
