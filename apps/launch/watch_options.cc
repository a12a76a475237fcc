// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/watch_options.h"

#include "store/base/endpoint.h"
#include "store/base/text.h"

#include <string_view>
#include <utility>

namespace rankrun::launch {

using agent::LaunchConfig;
using base::Endpoint;
using base::Result;

namespace {

std::string non_empty_or(const LaunchConfig& config, std::string_view name, std::string fallback) {
  auto value = agent::value_of(config.environment, name).value_or("");
  return value.empty() ? std::move(fallback) : std::move(value);
}

// PORT, or ADDR:PORT.
Result<Endpoint> parse_health(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return base::parse_endpoint(text, std::nullopt);
  const auto port = base::parse_port(base::trimmed(text));
  if (!port) return base::failure(port.error());
  return Endpoint{"", *port};
}

}  // namespace

void apply_watch_variables(const std::string& random_id, LaunchConfig& config) {
  if (agent::value_of(config.environment, "TORCHELASTIC_ENABLE_FILE_TIMER") == "1") {
    const std::string folder = non_empty_or(config, "TMPDIR", "/tmp");
    config.timer_file =
        non_empty_or(config, "TORCHELASTIC_TIMER_FILE", folder + "/watchdog_timer_" + random_id);
  }
  constexpr std::string_view kHealth = "TORCHELASTIC_HEALTH_CHECK_PORT";
  const std::string health = non_empty_or(config, kHealth, "");
  if (health.empty()) return;
  auto endpoint = parse_health(health);
  if (endpoint) {
    config.health = std::move(*endpoint);
  } else {
    config.notices.push_back(
        endpoint.error().within("no health check: " + std::string(kHealth)).message());
  }
}

}  // namespace rankrun::launch
