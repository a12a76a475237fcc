// SPDX-License-Identifier: Apache-2.0
// The loop of a store server: accepts connections, gives each its turns, and ends those whose time
// is over. Everything but stop() is used by one thread.
#pragma once

#include "store/base/log.h"
#include "store/connection.h"
#include "store/deadlines.h"
#include "store/listener.h"
#include "store/lobby.h"
#include "store/poller.h"
#include "store/server.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <system_error>
#include <unordered_map>

namespace rankrun::store {

class ServerLoop {
 public:
  ServerLoop(const ServerOptions& options, Listener listener, Poller poller, base::Logger log);

  /// Fails for want of memory. Call once, first.
  base::Result<void> listen();
  /// Serves until stop(); then the listener and all connections are closed.
  void run();
  /// From any thread.
  void stop() { poller_.interrupt(); }

  std::uint16_t port() const { return listener_.port(); }
  /// When run() has returned, or was never called.
  ServerReport report() const;

 private:
  /// Why a connection has a turn.
  enum class Cause { socket_is_ready, more_to_do, time_is_over };
  using Connections = std::unordered_map<ConnectionId, Connection>;

  std::optional<base::TimePoint> next_deadline() const;
  void do_due(base::TimePoint now);
  void expire(base::TimePoint now);

  void accept_some(base::TimePoint now);
  bool accept_one(base::TimePoint now);
  void admit(Accepted accepted, base::TimePoint now);
  bool make_room(base::TimePoint now);
  void rest_from_accepting(const base::Error& error, base::TimePoint now);

  void serve(ConnectionId id, Cause cause, base::TimePoint now);
  std::error_code take_turn(Connection& connection, Cause cause, base::TimePoint now);
  std::error_code move_bytes(Connection& connection, Cause cause);
  void wake_released();
  void arrange(Connection& connection, std::size_t unwritten_before, base::TimePoint now);
  void arrange_lobby(Connection& connection);
  void arrange_writing(Connection& connection, std::size_t before, base::TimePoint now);
  void arrange_decision(Connection& connection, base::TimePoint now);

  void close(Connections::iterator entry, std::error_code reason);
  void close(ConnectionId id, errc reason);
  void count_refusal(errc reason);

  const std::size_t max_connections_;
  const base::Logger log_;
  Listener listener_;
  Poller poller_;
  Service service_;  // before the connections, whose sessions use it to their end
  Connections connections_;
  ConnectionId last_id_;
  std::unique_ptr<std::byte[]> chunk_;  // what one read fills
  std::deque<ConnectionId> due_;        // who has something to do although no socket tells

  Lobby lobby_;
  Deadlines unread_;                             // who does not read the replies
  Deadlines undecided_;                          // whose last request could go on
  std::optional<base::TimePoint> accept_again_;  // while accepting rests
  bool told_of_rest_ = false;                    // once until it works again
};

}  // namespace rankrun::store
