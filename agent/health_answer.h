// SPDX-License-Identifier: Apache-2.0
// Pure: what is answered to a health probe.
#pragma once

#include "agent/state.h"
#include "store/base/clock.h"

#include <optional>
#include <string>
#include <string_view>

namespace rankrun::agent {

/// How an agent is at some moment.
struct HealthFacts {
  Phase phase = Phase::joining;
  std::string run_id;
  int attempt = 0;  ///< restarts so far
  int workers = 0;  ///< of this node
  int workers_live = 0;

  bool operator==(const HealthFacts&) const = default;
};

/// An HTTP response. The body is one line of JSON.
struct HealthAnswer {
  unsigned status = 200;
  std::string body;
  std::string allow;  ///< methods, after a wrong one

  bool operator==(const HealthAnswer&) const = default;
};

/// To any request that is not a GET or HEAD of /healthz; nothing to those.
std::optional<HealthAnswer> refuse_request(std::string_view method, std::string_view target);

HealthAnswer healthy(const HealthFacts& facts);

/// When the agent's loop has not answered for `silent`.
HealthAnswer stuck(const std::string& run_id, base::Duration silent);

}  // namespace rankrun::agent
