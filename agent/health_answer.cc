// SPDX-License-Identifier: Apache-2.0
#include "agent/health_answer.h"

#include <nlohmann/json.hpp>

#include <chrono>

namespace rankrun::agent {

using Json = nlohmann::ordered_json;

namespace {

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::joining:
      return "joining";
    case Phase::running:
      return "running";
    case Phase::stopping:
      return "stopping";
    case Phase::reporting:
      return "reporting";
    case Phase::leaving:
      return "leaving";
    case Phase::ended:
      break;
  }
  return "ended";
}

std::string line(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::optional<HealthAnswer> refuse_request(std::string_view method, std::string_view target) {
  if (target.substr(0, target.find('?')) != "/healthz") {
    return HealthAnswer{404, line({{"error", "only /healthz is here"}}), {}};
  }
  if (method != "GET" && method != "HEAD") {
    return HealthAnswer{405, line({{"error", "use GET or HEAD"}}), "GET, HEAD"};
  }
  return std::nullopt;
}

HealthAnswer healthy(const HealthFacts& facts) {
  return {200,
          line({{"status", "ok"},
                {"phase", name(facts.phase)},
                {"attempt", facts.attempt},
                {"run_id", facts.run_id},
                {"workers", facts.workers},
                {"workers_live", facts.workers_live}}),
          {}};
}

HealthAnswer stuck(const std::string& run_id, base::Duration silent) {
  const double seconds = std::chrono::duration<double>(silent).count();
  return {503, line({{"status", "stuck"}, {"run_id", run_id}, {"silent_seconds", seconds}}), {}};
}

}  // namespace rankrun::agent
