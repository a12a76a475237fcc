// SPDX-License-Identifier: Apache-2.0
#include "store/deadlines.h"

#include <iterator>

namespace rankrun::store {

void Deadlines::start(ConnectionId connection, base::TimePoint now) {
  end(connection);
  entries_.push_back({connection, now + limit_});
  places_.emplace(connection, std::prev(entries_.end()));
}

void Deadlines::end(ConnectionId connection) {
  const auto place = places_.find(connection);
  if (place == places_.end()) return;
  entries_.erase(place->second);
  places_.erase(place);
}

std::optional<base::TimePoint> Deadlines::next() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.front().at;
}

std::optional<ConnectionId> Deadlines::oldest() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.front().connection;
}

std::optional<ConnectionId> Deadlines::overdue(base::TimePoint now) const {
  if (entries_.empty() || entries_.front().at > now) return std::nullopt;
  return entries_.front().connection;
}

}  // namespace rankrun::store
