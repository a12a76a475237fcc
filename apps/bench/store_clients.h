// SPDX-License-Identifier: Apache-2.0
// Many clients of one store server on one thread, for store benchmarks.
#pragma once

#include "store/base/clock.h"
#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::bench {

/// Sockets that neither wait nor linger, and which of them are ready. Every wait has a limit.
class StoreClients {
 public:
  static base::Result<StoreClients> open();

  /// Starts one more connection; the kernel may still be at it.
  base::Result<std::size_t> start_connecting(std::uint16_t port);
  /// Connects that many; with `greet` each has shaken hands and was answered a PING.
  enum class Greet { no, yes };
  base::Result<void> connect(std::uint16_t port, std::size_t count, Greet greet = Greet::yes);

  std::size_t size() const { return sockets_.size(); }

  /// Sends all of it, waiting for room.
  base::Result<void> send(std::size_t client, std::string_view bytes);
  /// Sends what fits; returns how much that was.
  base::Result<std::size_t> send_some(std::size_t client, std::string_view bytes);
  /// What has come, at most the whole buffer; empty when nothing has. Valid until the next call.
  /// A close is an error.
  base::Result<std::string_view> receive(std::size_t client);
  /// Exactly that many bytes, waiting for them.
  base::Result<std::string> receive_exactly(std::size_t client, std::size_t count);

  /// One PING and its answer.
  base::Result<void> round_trip(std::size_t client);

  /// Also tells when there is room to send again.
  void watch_room(std::size_t client, bool wanted);
  /// Which clients have something to read, or room. Fails when none has before `deadline`; may
  /// return earlier with none. Signals to stop end it.
  base::Result<std::span<const std::size_t>> wait(base::TimePoint deadline);

  /// The same, but returns at `until`, to the microsecond.
  base::Result<std::span<const std::size_t>> wait_until(base::TimePoint until,
                                                        base::TimePoint deadline);
  /// Its server is gone: closes it.
  void forget(std::size_t client) { sockets_[client].reset(); }

  /// wait() as a loop: calls `on_ready` with each ready client until it has returned true `count`
  /// times.
  using OnReady = std::function<base::Result<bool>(std::size_t client)>;
  base::Result<void> run_until(std::size_t count,
                               base::TimePoint deadline,
                               const OnReady& on_ready);

 private:
  StoreClients() = default;
  base::Result<std::span<const std::size_t>> ready_within(int milliseconds,
                                                          base::TimePoint deadline);

  base::UniqueFd epoll_;
  std::vector<base::UniqueFd> sockets_;
  std::vector<std::size_t> ready_;
  std::string chunk_;
};

}  // namespace rankrun::bench
