// SPDX-License-Identifier: Apache-2.0
// Tells probes over HTTP whether the agent is alive: on a thread of its own, so that it also
// answers when the agent's loop does not.
#pragma once

#include "agent/health_answer.h"
#include "store/base/clock.h"
#include "store/base/endpoint.h"
#include "store/base/log.h"
#include "store/base/result.h"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace rankrun::agent {

struct HealthOptions {
  base::Endpoint endpoint;  ///< a literal, or no host: every interface; port 0: a free one
  std::string run_id;
  /// The agent's loop is stuck when it does not answer for this long.
  base::Duration answer_limit = std::chrono::seconds(5);
  /// To send a request or take its answer, for a client.
  base::Duration transfer_limit = std::chrono::seconds(5);
  std::size_t max_connections = 64;  ///< then the one that has been idle longest is closed
};

/// Serves GET and HEAD of /healthz from start() until it is destroyed, which is on the agent's
/// thread. Wakes the agent's loop only for a request.
class HealthServer {
 public:
  /// What the agent's loop answers a question with.
  using Facts = std::function<HealthFacts()>;

  /// Binds and starts the thread. `agent` is the agent's loop. Fails with the system's code or
  /// errc::invalid_value.
  static base::Result<std::unique_ptr<HealthServer>> start(HealthOptions options,
                                                           boost::asio::any_io_executor agent,
                                                           Facts facts,
                                                           base::Logger log);
  ~HealthServer();
  HealthServer(const HealthServer&) = delete;
  HealthServer& operator=(const HealthServer&) = delete;

  /// What is bound.
  base::Endpoint endpoint() const;

 private:
  class Impl;
  explicit HealthServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rankrun::agent
