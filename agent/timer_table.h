// SPDX-License-Identifier: Apache-2.0
// Pure: the timers that processes of the workers have set.
#pragma once

#include "agent/process_table.h"
#include "agent/timer_request.h"
#include "store/base/clock.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rankrun::agent {

/// A time on both clocks. Clients tell when by the clock of the wall, and limits are kept by the
/// other, which nobody sets: so only what a client sets while the wall's clock jumps is wrong.
struct BothClocks {
  base::WallTime wall;
  base::TimePoint steady;
};

struct Timer {
  pid_t pid = 0;
  std::string scope;
  std::uint64_t started = 0;  ///< of the process that set it, whose id may since be another's
  int signal = 0;

  bool operator==(const Timer&) const = default;
};

/// At most one timer per process and scope.
class TimerTable {
 public:
  /// Sets or replaces the timer; false when there are too many. `request` has a time, and `process`
  /// its id.
  bool set(const TimerRequest& request, const ProcessEntry& process, BothClocks now);
  /// Takes it back, if there is one.
  void release(const TimerRequest& request);
  void clear();

  /// When the first timer expires.
  std::optional<base::TimePoint> next_expiry() const;
  /// Removes and returns those that have expired, earliest first.
  std::vector<Timer> take_expired(base::TimePoint now);

  std::size_t size() const { return timers_.size(); }

  /// Four for each of the most workers that a node may have; 64 MiB if all names are the longest.
  static constexpr std::size_t kMostTimers = std::size_t{1} << 14;

 private:
  using Key = std::pair<pid_t, std::string>;
  struct Value {
    base::TimePoint expiry;
    std::uint64_t started = 0;
    int signal = 0;
  };
  using Timers = std::map<Key, Value>;

  void remove(Timers::iterator timer);

  Timers timers_;
  std::set<std::pair<base::TimePoint, const Key*>> by_expiry_;  // the keys are those of timers_
};

}  // namespace rankrun::agent
