// SPDX-License-Identifier: Apache-2.0
#include "agent/timer_table.h"

#include <algorithm>
#include <chrono>

namespace rankrun::agent {

namespace {

// Whatever lies further ahead is as good as never, and no clock can hold all that a double can.
constexpr double kLongestWait = 10.0 * 365 * 24 * 3600;

base::TimePoint expiry_of(double unix_seconds, BothClocks now) {
  using Seconds = std::chrono::duration<double>;
  const double wall = Seconds(now.wall.time_since_epoch()).count();
  const Seconds left(std::clamp(unix_seconds - wall, 0.0, kLongestWait));
  return now.steady + std::chrono::duration_cast<base::Duration>(left);
}

}  // namespace

bool TimerTable::set(const TimerRequest& request, const ProcessEntry& process, BothClocks now) {
  release(request);
  if (timers_.size() >= kMostTimers) return false;
  const Value value{expiry_of(*request.expires, now), process.started, request.signal};
  const auto timer = timers_.emplace(Key(request.pid, request.scope), value).first;
  by_expiry_.emplace(value.expiry, &timer->first);
  return true;
}

void TimerTable::release(const TimerRequest& request) {
  const auto timer = timers_.find(Key(request.pid, request.scope));
  if (timer != timers_.end()) remove(timer);
}

void TimerTable::clear() {
  by_expiry_.clear();
  timers_.clear();
}

std::optional<base::TimePoint> TimerTable::next_expiry() const {
  if (by_expiry_.empty()) return std::nullopt;
  return by_expiry_.begin()->first;
}

std::vector<Timer> TimerTable::take_expired(base::TimePoint now) {
  std::vector<Timer> expired;
  while (!by_expiry_.empty() && by_expiry_.begin()->first <= now) {
    const auto timer = timers_.find(*by_expiry_.begin()->second);
    const auto& [key, value] = *timer;
    expired.push_back({key.first, key.second, value.started, value.signal});
    remove(timer);
  }
  return expired;
}

void TimerTable::remove(Timers::iterator timer) {
  by_expiry_.erase({timer->second.expiry, &timer->first});
  timers_.erase(timer);
}

}  // namespace rankrun::agent
