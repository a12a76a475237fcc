// SPDX-License-Identifier: Apache-2.0
// The key space of a store: values, queues, and who waits for what. Pure: commands in, replies out.
#pragma once

#include "store/command.h"
#include "store/errc.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
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

/// A hash that lets a map be searched by string_view.
struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
};

template <typename T>
using ByKey = std::unordered_map<std::string, T, KeyHash, std::equal_to<>>;

/// Rules: PROTOCOL.md. The cost of a command does not depend on how many keys or waiters there are,
/// but for those it names or releases. Storing a key again allocates nothing unless it grows or a
/// reply still refers to the old value.
class KeyValue {
 public:
  /// Carries out one command, of which it may take the value. On an error nothing has changed, but
  /// a wait of `from` that any command drops is gone; that connection is to be closed.
  [[nodiscard]] tl::expected<Outcome, errc> apply(ConnectionId from, Command& command);

  /// Takes off what `connection` waits for; for connections that have closed.
  void drop(ConnectionId connection);

  std::size_t size() const { return values_.size(); }  ///< number of keys; queues do not count
  Value find(std::string_view key) const;              ///< null when missing

 private:
  /// Not const: a value that no reply refers to is changed in place.
  using Slot = std::shared_ptr<std::string>;
  using Result = tl::expected<Outcome, errc>;

  /// One registration of a waiting connection on one key.
  struct Registration {
    ConnectionId connection = 0;
    std::size_t place = 0;  // in that connection's wait
  };
  using Waiters = std::list<Registration>;  // the longest waiting first
  /// The same registration, as the connection has it; null when its key has come.
  struct Place {
    ByKey<Waiters>::pointer key = nullptr;
    Waiters::iterator registration;
  };
  struct Wait {
    std::vector<Place> places;
    std::size_t missing = 0;
  };

  Outcome set(Command& command);
  Outcome compare_set(Command& command);
  Result add(const Command& command);
  Outcome check(const Command& command) const;
  Outcome wait(ConnectionId from, const Command& command);
  Outcome remove(const Command& command);
  Outcome append(Command& command);
  Outcome get_all(const Command& command) const;
  Outcome push(Command& command);
  Outcome pop(const Command& command);
  Outcome queue_length(const Command& command) const;
  Outcome list_keys() const;
  Result barrier(ConnectionId from, const Command& command);

  bool present(std::string_view key) const;
  void store(std::string_view key, std::string& value);
  tl::expected<std::int64_t, errc> increase(std::string_view key, std::int64_t delta);

  void enlist(ConnectionId connection, std::string_view key);
  void wake_all(std::string_view key, std::vector<ConnectionId>& released);
  void wake_longest(std::string_view key, std::vector<ConnectionId>& released);
  void settle(const Registration& registration, std::vector<ConnectionId>& released);

  ByKey<Slot> values_;
  ByKey<std::deque<Value>> queues_;  // none is empty

  // Each refers to the other, so that taking a registration off costs the same however many there
  // are. A key or connection without any is in neither.
  ByKey<Waiters> waiting_on_;
  std::unordered_map<ConnectionId, Wait> waits_of_;
};

/// Reads a number as C's strtoll does: white space, a sign, digits, the rest ignored. Fails with
/// errc::not_a_number when there are no digits or it exceeds 64 bits.
[[nodiscard]] tl::expected<std::int64_t, errc> parse_number(std::string_view text);

}  // namespace rankrun::store
