// SPDX-License-Identifier: Apache-2.0
// Pure: what is done between two attempts: how long to wait, and when trying again is hopeless.
#pragma once

#include "agent/exit_status.h"
#include "store/base/clock.h"

#include <chrono>
#include <string>

namespace rankrun::agent {

/// --restart-delay. Each short attempt in a row doubles it; the first one after a long attempt, or
/// at the start, does not yet.
class RestartDelay {
 public:
  explicit RestartDelay(base::Duration delay) : delay_(delay) {}

  /// How long to wait for the restart after an attempt that took so long.
  base::Duration after(base::Duration attempt);

  static constexpr int kShortAttempt = 10;  ///< shorter than so many times the delay
  static constexpr int kMostFactor = 16;

 private:
  base::Duration delay_;
  int factor_ = 0;  // of the last one; 0: it followed a long attempt, or there was none
};

/// What ended an attempt first.
struct FirstCause {
  int rank = 0;
  ExitStatus status = ExitStatus::exited(1);
  std::string exception;  ///< as its error file has it; empty: none

  /// The same exception, of whatever rank; without one, the same end of the same rank.
  bool is_like(const FirstCause& other) const;
};

/// --max-same-failure. Counts attempts in a row that the same cause has ended soon after their
/// start.
class SameFailures {
 public:
  /// `most`: 0 for no limit.
  explicit SameFailures(int most) : most_(most) {}

  void add(FirstCause cause, base::Duration attempt);
  /// Something else has ended an attempt.
  void reset() { count_ = 0; }

  /// How many there are once they are too many; else 0.
  int limit_reached() const { return most_ > 0 && count_ >= most_ ? count_ : 0; }

  static constexpr std::chrono::seconds kSoon{10};

 private:
  int most_;
  int count_ = 0;
  FirstCause last_;
};

}  // namespace rankrun::agent
