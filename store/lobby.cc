// SPDX-License-Identifier: Apache-2.0
#include "store/lobby.h"

#include "store/base/assert.h"

namespace rankrun::store {

Lobby::Lobby(base::Duration limit) : silent_(limit) {
  RANKRUN_ASSERT(limit > base::Duration::zero());
}

void Lobby::enter(ConnectionId connection, const std::string& address, base::TimePoint now) {
  silent_.start(connection, now);
  addresses_.emplace(connection, address);
}

void Lobby::leave(ConnectionId connection) {
  silent_.end(connection);
  addresses_.erase(connection);
}

void Lobby::legacy_client_left(const std::string& address) {
  const auto clients = legacy_clients_.find(address);
  if (--clients->second == 0) legacy_clients_.erase(clients);
}

std::optional<ConnectionId> Lobby::overdue(base::TimePoint now) {
  while (const auto first = silent_.overdue(now)) {
    if (!is_let_be(*first)) return first;
    silent_.start(*first, now);  // to be looked at again
  }
  return std::nullopt;
}

std::optional<ConnectionId> Lobby::first_to_go(base::TimePoint now) {
  constexpr int kMostLooks = 64;  // so that many that are let be cost nobody much time
  for (int look = 0; look < kMostLooks; ++look) {
    const auto first = silent_.oldest();
    if (!first || !is_let_be(*first)) return first;
    silent_.start(*first, now);  // behind those that can go
  }
  return std::nullopt;
}

bool Lobby::is_let_be(ConnectionId connection) const {
  return legacy_clients_.contains(addresses_.at(connection));
}

}  // namespace rankrun::store
