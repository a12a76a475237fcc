// SPDX-License-Identifier: Apache-2.0
// Pure: what PyTorch's timer clients write to the agent, one JSON object per line.
#pragma once

#include <tl/expected.hpp>

#include <sys/types.h>

#include <climits>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::agent {

/// A client sets a timer, or takes it back.
struct TimerRequest {
  pid_t pid = 0;  ///< of the process that the timer is for
  std::string scope;
  std::optional<double> expires;  ///< Unix seconds; nothing: the timer is released
  int signal = SIGKILL;

  bool operator==(const TimerRequest&) const = default;
};

/// Why a line sets no timer.
enum class TimerFault {
  too_long,         ///< more than PIPE_BUF bytes, so that other lines may be inside
  no_json,          ///< not JSON
  wrong_form,       ///< keys, types or version
  no_signal,        ///< its signal does not exist
  foreign_process,  ///< the process is none of a worker, or has ended
  too_many,         ///< timers
};
inline constexpr std::size_t kTimerFaults = 6;

/// What was wrong, for people.
std::string_view describe(TimerFault fault);

using ParsedTimer = tl::expected<TimerRequest, TimerFault>;

/// One line, without its end.
ParsedTimer parse_timer_request(std::string_view line);

/// The lines of a stream, whose pieces may end anywhere. Holds at most one unfinished line.
class TimerLines {
 public:
  /// The requests of the lines that `bytes` finishes. Empty lines are none.
  std::vector<ParsedTimer> add(std::string_view bytes);

  /// Forgets the unfinished line.
  void clear();

  static constexpr std::size_t kLongestLine = PIPE_BUF;  ///< with its end; such writes are whole

 private:
  void hold(std::string_view piece);

  std::string rest_;
  bool too_long_ = false;  // the unfinished line, of which nothing is kept
};

}  // namespace rankrun::agent
