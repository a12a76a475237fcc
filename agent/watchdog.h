// SPDX-License-Identifier: Apache-2.0
// Workers set timers by writing to a FIFO, as PyTorch's FileTimerClient does; the process whose
// timer expires gets a signal.
#pragma once

#include "agent/process_table.h"
#include "agent/timer_table.h"
#include "store/base/log.h"
#include "store/base/result.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rankrun::agent {

/// Belongs to the agent's loop, which it wakes for messages and expiries only. Rests until it is
/// told of workers.
class Watchdog {
 public:
  /// Told of a timer whose process has just been sent its signal.
  using OnExpired = std::function<void(int local_rank, const Timer& timer)>;

  /// Makes the FIFO. One that is there, or a regular file, is replaced if it is ours; anything else
  /// is a failure.
  static base::Result<std::unique_ptr<Watchdog>> open(const boost::asio::any_io_executor& executor,
                                                      std::string path,
                                                      base::Logger log);

  /// Removes the FIFO, unless another one has its name by now.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// From now on the processes of these workers may have timers: what is in a worker's session or
  /// process group. Local ranks are indices.
  void watch(std::vector<pid_t> workers, OnExpired on_expired);

  /// Forgets all timers, and what has been written so far.
  void rest();

  /// Reads and acts until cancelled.
  boost::asio::awaitable<void> run();

 private:
  Watchdog(const boost::asio::any_io_executor& executor,
           int fifo,
           std::string path,
           base::Logger log);

  void take_requests();
  std::optional<TimerFault> apply(const ParsedTimer& request);
  void count(TimerFault fault);
  void end_expired();
  void end(const Timer& timer);
  std::optional<int> worker_of(const ProcessEntry& process) const;

  boost::asio::posix::stream_descriptor fifo_;
  std::string path_;
  base::Logger log_;
  std::vector<pid_t> workers_;  // of the attempt; none: resting
  OnExpired on_expired_;
  TimerLines lines_;
  TimerTable timers_;
  std::array<std::uint64_t, kTimerFaults> dropped_{};  // lines, by what was wrong with them
};

}  // namespace rankrun::agent
