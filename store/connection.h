// SPDX-License-Identifier: Apache-2.0
// One socket of the store server and what is said over it.
#pragma once

#include "store/base/endpoint.h"
#include "store/base/unique_fd.h"
#include "store/session.h"

#include <cstddef>
#include <span>
#include <system_error>

namespace rankrun::store {

/// Serves its client in turns that never wait. Nothing is read while output is left.
class Connection {
 public:
  Connection(Service& service, ConnectionId id, base::UniqueFd socket, base::Endpoint peer);

  /// Reads once into `chunk` and answers what that completes. `chunk` means nothing between turns.
  /// An error is why the connection is to be closed.
  std::error_code read_turn(std::span<std::byte> chunk);
  /// Writes what is left, or else goes on with input that was kept.
  std::error_code write_turn();
  /// Time has told what an undecided session's last bytes mean.
  std::error_code decide_turn();

  int fd() const { return socket_.get(); }
  const base::Endpoint& peer() const { return peer_; }
  Session& session() { return session_; }

  /// What its owner has arranged for it, kept here so that nothing is done twice.
  struct Arranged {
    bool is_in_lobby = false;
    bool is_counted_as_legacy = false;
    bool waits_to_write = false;
    bool waits_to_decide = false;
  };
  Arranged arranged;

 private:
  std::error_code finish(Session::Done done);
  std::error_code flush();

  base::UniqueFd socket_;
  const base::Endpoint peer_;
  Session session_;
};

}  // namespace rankrun::store
