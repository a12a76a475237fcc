// SPDX-License-Identifier: Apache-2.0
// The key space of a store: values, queues, and who waits for what. Pure: commands in, replies out.
#pragma once

#include "store/command.h"
#include "store/errc.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace rankrun::store {

/// Names a connection for as long as the key space lives; never used again.
using ConnectionId = std::uint64_t;

/// What one command leads to.
struct Outcome {
  Reply reply;                         // for the connection that asked
  std::vector<ConnectionId> released;  // others, whose WAIT or BARRIER is answered now by a Flag 0
};

/// Rules: PROTOCOL.md. The cost of a command does not depend on how many keys or waiters there are,
/// but for those it names or releases (logarithmic in the waiters of one key, to take one off).
class KeyValue {
 public:
  /// Carries out one command. On an error nothing has changed, but a wait of `from` that any
  /// command drops is gone; that connection is to be closed.
  [[nodiscard]] tl::expected<Outcome, errc> apply(ConnectionId from, Command command);

  /// Takes off what `connection` waits for; for connections that have closed.
  void drop(ConnectionId connection);

  std::size_t size() const { return values_.size(); }  ///< number of keys; queues do not count
  Value find(const std::string& key) const;            ///< null when missing

 private:
  /// Not const: a value that no reply refers to is changed in place.
  using Slot = std::shared_ptr<std::string>;
  /// One registration of a waiting connection on one key; they grow, so they order by arrival.
  using Ticket = std::uint64_t;
  using Result = tl::expected<Outcome, errc>;

  Outcome set(Command command);
  Outcome compare_set(Command command);
  Result add(const Command& command);
  Outcome wait(ConnectionId from, const Command& command);
  Outcome remove(const Command& command);
  Outcome append(const Command& command);
  Outcome get_all(const Command& command) const;
  Outcome push(Command command);
  Outcome pop(const Command& command);
  Outcome queue_length(const Command& command) const;
  Outcome list_keys() const;
  Result barrier(ConnectionId from, const Command& command);

  bool present(const std::string& key) const;
  void store(const std::string& key, std::string value);
  tl::expected<std::int64_t, errc> increase(const std::string& key, std::int64_t delta);

  void enlist(ConnectionId connection, const std::string& key);
  void wake_all(const std::string& key, std::vector<ConnectionId>& released);
  void wake_longest(const std::string& key, std::vector<ConnectionId>& released);
  void settle(ConnectionId connection, Ticket ticket, std::vector<ConnectionId>& released);

  std::unordered_map<std::string, Slot> values_;
  std::unordered_map<std::string, std::deque<Value>> queues_;  // none is empty

  // The registrations, twice: by key, and by connection with a pointer to the key in `waiting_on_`.
  // A connection without any is in neither.
  std::unordered_map<std::string, std::map<Ticket, ConnectionId>> waiting_on_;
  std::unordered_map<ConnectionId, std::map<Ticket, const std::string*>> waits_of_;
  Ticket last_ticket_ = 0;
};

/// Reads a number as C's strtoll does: white space, a sign, digits, the rest ignored. Fails with
/// errc::not_a_number when there are no digits or it exceeds 64 bits.
[[nodiscard]] tl::expected<std::int64_t, errc> parse_number(std::string_view text);

}  // namespace rankrun::store
