// SPDX-License-Identifier: Apache-2.0
// Connections that all have the same time for something. Pure.
#pragma once

#include "store/base/clock.h"
#include "store/key_value.h"

#include <list>
#include <optional>
#include <unordered_map>

namespace rankrun::store {

/// Since the limit is the same for all, they are over in the order of their start: every call takes
/// the same time however many there are, and no timer is needed for each.
class Deadlines {
 public:
  explicit Deadlines(base::Duration limit) : limit_(limit) {}

  /// Starts the time of `connection`, or starts it again.
  void start(ConnectionId connection, base::TimePoint now);
  /// Harmless when it has none.
  void end(ConnectionId connection);

  /// When the first is over.
  std::optional<base::TimePoint> next() const;
  /// Who started first.
  std::optional<ConnectionId> oldest() const;
  /// Who started first, if its time is over; it stays until end() or start().
  std::optional<ConnectionId> overdue(base::TimePoint now) const;

 private:
  struct Entry {
    ConnectionId connection = 0;
    base::TimePoint at;
  };

  const base::Duration limit_;
  std::list<Entry> entries_;
  std::unordered_map<ConnectionId, std::list<Entry>::iterator> places_;
};

}  // namespace rankrun::store
