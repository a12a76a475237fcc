// SPDX-License-Identifier: Apache-2.0
// Connections that have not said yet what they speak, and how long they may stay. Pure.
#pragma once

#include "store/deadlines.h"

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

namespace rankrun::store {

/// A client of PyTorch 1.13 has a second connection on which it never sends, and spins when that is
/// closed. So a silent connection is let be while its address has a legacy client; any other has a
/// limit, and is the first to go when room is needed.
class Lobby {
 public:
  /// `limit` is more than nothing.
  explicit Lobby(base::Duration limit);

  void enter(ConnectionId connection, const std::string& address, base::TimePoint now);
  /// It spoke or has closed.
  void leave(ConnectionId connection);

  void legacy_client_came(const std::string& address) { ++legacy_clients_[address]; }
  void legacy_client_left(const std::string& address);

  /// When overdue() may have something to tell.
  std::optional<base::TimePoint> next() const { return silent_.next(); }
  /// Whose limit is over.
  std::optional<ConnectionId> overdue(base::TimePoint now);
  /// Who is to go when room is needed: about the one that came first.
  std::optional<ConnectionId> first_to_go(base::TimePoint now);

 private:
  bool is_let_be(ConnectionId connection) const;

  Deadlines silent_;
  std::unordered_map<ConnectionId, std::string> addresses_;  // of the silent ones
  std::unordered_map<std::string, std::size_t> legacy_clients_;
};

}  // namespace rankrun::store
