// SPDX-License-Identifier: Apache-2.0
// The c10d store server: serves unmodified PyTorch clients over TCP on a thread of its own, so that
// a storm of store requests cannot delay the agent.
#pragma once

#include "store/base/clock.h"
#include "store/base/log.h"
#include "store/base/result.h"
#include "store/report.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rankrun::store {

/// Whether clients that speak the dialects of PyTorch 1.13 to 2.1 are served. They have no magic
/// number, which is how port scans once made stores allocate without bound; so by default only
/// loopback does.
enum class LegacyClients { on_loopback, always };

struct ServerOptions {
  std::string address = "127.0.0.1";  ///< IPv4 or IPv6 literal, bound exactly; never a name
  std::uint16_t port = 0;             ///< 0: the kernel picks a free one
  LegacyClients legacy = LegacyClients::on_loopback;
  /// One more takes the place of one that has said nothing yet; else it is closed at once.
  std::size_t max_connections = 16384;
  /// Who has said nothing for this long is closed, but for 1.13's second connections (lobby.h).
  base::Duration silence_limit = std::chrono::seconds(30);
  /// A client that has not read a reply for this long is closed.
  base::Duration write_limit = std::chrono::minutes(10);
};

/// One listener with its own key space. Started and stopped from one thread (any); port() may
/// be read from any thread. Serves from start() until stop().
class Server {
 public:
  /// Binds, listens and starts the thread. Fails with the system's code (address in use, not
  /// available here, permission) or errc::not_an_address.
  static base::Result<std::unique_ptr<Server>> start(ServerOptions options, base::Logger log);

  /// Stops if stop() was not called.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;  ///< the port that is bound

  /// Closes the listener and all connections, joins the thread and reports. Call once.
  ServerReport stop();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rankrun::store
