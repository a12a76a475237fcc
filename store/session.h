// SPDX-License-Identifier: Apache-2.0
// One connection of the store server: read, decode, apply, write.
#pragma once

#include "store/base/clock.h"
#include "store/base/log.h"
#include "store/codec.h"
#include "store/key_value.h"
#include "store/output.h"
#include "store/server.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <unordered_map>
#include <vector>

namespace rankrun::store {

class Session;

/// What the sessions of one server share. Owned by the server, which outlives them; used on its
/// loop only.
struct Service {
  Service(Legacy legacy_clients, base::Duration limit, base::Logger logger);

  Legacy legacy;
  base::Duration write_limit;
  base::Logger log;
  KeyValue keys;
  ServerReport report;
  ConnectionId last_id = 0;
  bool asked = false;                                   // whether any command has come
  std::unordered_map<ConnectionId, Session*> sessions;  // each takes itself off when it ends
  std::vector<std::byte> chunk;  // what one read fills; empty of meaning between turns
};

/// Serves one client in turns. A turn never waits: it reads one chunk, applies the requests that
/// are complete, wakes the sessions they released, and hands its replies to the kernel in one
/// write; then the others have their turns. Nothing is read while replies are left, so what a
/// client can pile up here is bounded.
class Session {
 public:
  Session(Service& service,
          boost::asio::ip::tcp::socket socket,
          const boost::asio::ip::tcp::endpoint& peer);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Returns when the client has closed or was refused; ends by cancellation when the server stops.
  boost::asio::awaitable<void> run();

  /// Queues the late 00 of a WAIT or BARRIER, to be sent in a turn of its own. Called in another
  /// session's turn.
  void release();

 private:
  boost::asio::awaitable<std::error_code> serve();
  /// Fails with errc::peer_not_reading after the write limit.
  boost::asio::awaitable<std::error_code> writable();
  boost::asio::awaitable<void> readable();

  std::error_code take_turn();
  std::error_code process(std::span<const std::byte> input);
  std::error_code apply(Command command);
  std::error_code flush();
  void count(std::uint64_t requests_before);
  void report(std::error_code reason);
  bool output_full() const;

  Service& service_;  // owned by the server, which joins all sessions before it goes
  const ConnectionId id_;
  const boost::asio::ip::tcp::endpoint peer_;
  boost::asio::ip::tcp::socket socket_;
  Decoder decoder_;
  Output output_;
  std::vector<std::byte> held_;         // read, but not decoded since the output was full
  std::vector<ConnectionId> released_;  // by this turn's commands, not yet woken
  bool awaits_input_ = false;
  bool refused_ = false;
};

}  // namespace rankrun::store
