// SPDX-License-Identifier: Apache-2.0
// What one connection of the store says and is answered: decode, apply, encode. Pure: the bytes
// come and go through its owner.
#pragma once

#include "store/codec.h"
#include "store/key_value.h"
#include "store/output.h"
#include "store/report.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace rankrun::store {

/// What the sessions of one server share. Owned by the server, which outlives them.
struct Service {
  Legacy legacy = Legacy::refused;
  KeyValue keys;
  ServerReport report;
  bool asked = false;                  // whether any command has come
  std::vector<ConnectionId> released;  // whose WAIT or BARRIER is over and who are not told yet
};

/// Takes what a client sends and queues what it is answered. It takes no more input while much
/// output is left, so what a client can pile up here is bounded.
class Session {
 public:
  using Done = tl::expected<void, errc>;

  Session(Service& service, ConnectionId id);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Carries out the requests that `input` completes. Keeps the rest of it when the output has
  /// become large. On an error the connection is to be closed after its output.
  [[nodiscard]] Done take(std::span<const std::byte> input);
  /// Goes on with what was kept, once the output is gone.
  [[nodiscard]] Done go_on();
  bool has_kept_input() const { return !kept_.empty(); }

  /// Whether only time can tell what the last bytes mean (Decoder::undecided).
  bool undecided() const { return decoder_.undecided(); }
  /// That time is over.
  [[nodiscard]] Done decide();

  /// Its WAIT or BARRIER is over: queues the late 00.
  void release();

  std::optional<Dialect> dialect() const { return decoder_.dialect(); }
  ConnectionId id() const { return id_; }
  std::uint64_t requests() const { return decoder_.requests(); }
  Output& output() { return output_; }
  const Output& output() const { return output_; }

 private:
  Done apply(Command& command);
  void count(std::uint64_t requests_before, bool proved_before);
  bool output_is_full() const;

  Service& service_;
  const ConnectionId id_;
  Decoder decoder_;
  Output output_;
  std::vector<std::byte> kept_;
};

}  // namespace rankrun::store
