// SPDX-License-Identifier: Apache-2.0
#include "agent/hang_watch.h"

#include <algorithm>
#include <chrono>

namespace rankrun::agent {

namespace {

using std::chrono::milliseconds;

constexpr base::Duration kShortestInterval = milliseconds(10);
constexpr base::Duration kLongestInterval = std::chrono::seconds(1);
constexpr int kLooksPerLimit = 10;
constexpr int kMostIntervals = 2;  // that one look may count for

constexpr int kLeastShare = 100;  // of one core: threads that wake now and then stay below 1 %
// The kernel tells user and system time in clock ticks of 10 ms each: one of both may be noise.
constexpr base::Duration kLeastSurplus = milliseconds(20);

}  // namespace

HangWatch::HangWatch(base::Duration limit, std::size_t workers, base::TimePoint now)
    : limit_(limit),
      interval_(std::clamp(limit / kLooksPerLimit, kShortestInterval, kLongestInterval)),
      looked_at_(now),
      workers_(workers) {}

std::optional<Hang> HangWatch::look(const std::vector<WorkerSample>& samples, base::TimePoint now) {
  const base::Duration passed = std::min(now - looked_at_, kMostIntervals * interval_);
  looked_at_ = now;
  base::Duration of_all = base::Duration::max();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    take(workers_[i], samples.at(i), passed);
    of_all = std::min(of_all, workers_[i].silence.any);
  }
  Hang hang{.local_ranks = {}, .silence = base::Duration::max()};
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const base::Duration silence = workers_[i].silence.heartbeat.value_or(of_all);
    if (!samples[i].is_live || silence < limit_) continue;
    hang.local_ranks.push_back(static_cast<int>(i));
    hang.silence = std::min(hang.silence, silence);
  }
  return hang.local_ranks.empty() ? std::nullopt : std::optional(std::move(hang));
}

Silence HangWatch::silence(std::size_t local_rank) const {
  return workers_.at(local_rank).silence;
}

void HangWatch::take(Worker& worker, const WorkerSample& sample, base::Duration passed) const {
  const bool beats = sample.heartbeat && sample.heartbeat != worker.seen.heartbeat;
  const bool writes = sample.last_output != worker.seen.last_output;
  // What ended processes have used may be missing from a later sum.
  const base::Duration used = std::max(sample.cpu - worker.seen.cpu, base::Duration::zero());
  const auto last_heartbeat = sample.heartbeat ? sample.heartbeat : worker.seen.heartbeat;
  worker.seen = sample;
  worker.seen.heartbeat = last_heartbeat;

  worker.silence.any += passed;
  if (worker.silence.heartbeat) *worker.silence.heartbeat += passed;
  if (beats) worker.silence.heartbeat = base::Duration::zero();
  if (computes(worker, used, passed) || writes || beats) {
    worker.silence.any = worker.cpu = worker.surplus = base::Duration::zero();
  }
}

// Either much at once, or on the average of the whole silence: so neither a short burst after a
// long wait nor a little all the time is missed.
bool HangWatch::computes(Worker& worker, base::Duration used, base::Duration passed) const {
  worker.cpu += used;
  worker.surplus = std::max(worker.surplus + used - passed / kLeastShare, base::Duration::zero());
  if (worker.surplus >= kLeastSurplus) return true;
  return worker.silence.any >= limit_ && worker.cpu >= worker.silence.any / kLeastShare;
}

}  // namespace rankrun::agent
