// SPDX-License-Identifier: Apache-2.0
// Pure: tells from what is seen of the workers whether they hang (README.md has the rules).
#pragma once

#include "store/base/clock.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

namespace rankrun::agent {

/// Workers that make no progress.
struct Hang {
  std::vector<int> local_ranks;  ///< never empty
  base::Duration silence{};      ///< how long each of them has made none, at least

  bool operator==(const Hang&) const = default;
};

/// What is seen of one worker at one time.
struct WorkerSample {
  bool is_live = true;
  base::TimePoint last_output;  ///< on either stream; anything before its start: none yet
  base::Duration cpu{};         ///< used by all processes of its session so far
  /// When its heartbeat file was changed; nothing when there is none. Only compared: the clock may
  /// be another one.
  std::optional<std::filesystem::file_time_type> heartbeat;
};

/// How long nothing has been seen of a worker.
struct Silence {
  base::Duration any{};                     ///< no output, no use of the CPU, no heartbeat
  std::optional<base::Duration> heartbeat;  ///< nothing before the first
};

/// Watches the workers of one attempt from their start on. Time in which it does not look (we were
/// stopped, or the machine slept) counts as two intervals: the workers may have been stopped, too.
class HangWatch {
 public:
  HangWatch(base::Duration limit, std::size_t workers, base::TimePoint now);

  /// How often to look.
  base::Duration interval() const { return interval_; }

  /// Takes a sample of every worker, by local rank, and tells who hangs: who has sent heartbeats
  /// but none for as long as the limit; and all, when none has made progress for that long.
  std::optional<Hang> look(const std::vector<WorkerSample>& samples, base::TimePoint now);

  /// Of one worker, at the last look.
  Silence silence(std::size_t local_rank) const;

 private:
  struct Worker {
    WorkerSample seen;
    Silence silence;
    base::Duration cpu{};      // used during this silence
    base::Duration surplus{};  // of that, what exceeds the least share, lately
  };

  void take(Worker& worker, const WorkerSample& sample, base::Duration passed) const;
  bool computes(Worker& worker, base::Duration used, base::Duration passed) const;

  base::Duration limit_;
  base::Duration interval_;
  base::TimePoint looked_at_;
  std::vector<Worker> workers_;
};

}  // namespace rankrun::agent
