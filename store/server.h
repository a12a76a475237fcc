// SPDX-License-Identifier: Apache-2.0
// The c10d store server: serves unmodified PyTorch clients over TCP on a thread of its own, so that
// a storm of store requests cannot delay the agent.
#pragma once

#include "store/base/clock.h"
#include "store/base/log.h"
#include "store/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rankrun::store {

/// Whether clients that speak the dialect of PyTorch 1.13 and 2.0 are served. It has no magic
/// number, which is how port scans once made stores allocate without bound; so by default only
/// loopback does.
enum class LegacyClients { on_loopback, always };

struct ServerOptions {
  std::string address = "127.0.0.1";  ///< IPv4 or IPv6 literal, bound exactly; never a name
  std::uint16_t port = 0;             ///< 0: the kernel picks a free one
  LegacyClients legacy = LegacyClients::on_loopback;
  std::size_t max_connections = 16384;  ///< more are closed at once and counted as refused
  /// A client that has not read a reply for this long is closed.
  base::Duration write_limit = std::chrono::minutes(10);
};

/// What the server saw from start to stop. A client is a connection that completed at least one
/// request; the handshake is none.
struct ServerReport {
  std::uint64_t modern_clients = 0;  ///< clients of PyTorch 2.2 and later
  std::uint64_t legacy_clients = 0;  ///< clients of PyTorch 1.13 and 2.0 (dialect L1)
  /// Connections that never completed a request nor were refused (1.13 opens one each).
  std::uint64_t silent = 0;
  std::uint64_t refused = 0;  ///< connections closed for an error, the limit included
  std::uint64_t requests = 0;
  std::uint64_t joined =
      0;  ///< value of the start-up counter `init/`: ranks that announced themselves
  std::size_t keys_at_first_request = 0;
  std::size_t keys_at_stop = 0;

  bool operator==(const ServerReport&) const = default;
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
