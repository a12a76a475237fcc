// SPDX-License-Identifier: Apache-2.0
#include "agent/restart_policy.h"

#include <algorithm>
#include <utility>

namespace rankrun::agent {

base::Duration RestartDelay::after(base::Duration attempt) {
  const bool was_short = attempt < kShortAttempt * delay_;
  factor_ = was_short ? std::clamp(2 * factor_, 1, kMostFactor) : 0;
  return std::max(factor_, 1) * delay_;
}

bool FirstCause::is_like(const FirstCause& other) const {
  if (!exception.empty() || !other.exception.empty()) return exception == other.exception;
  return rank == other.rank && status == other.status;
}

void SameFailures::add(FirstCause cause, base::Duration attempt) {
  const bool is_soon = attempt < kSoon;
  const bool goes_on = count_ > 0 && cause.is_like(last_);
  count_ = is_soon ? 1 + (goes_on ? count_ : 0) : 0;
  last_ = std::move(cause);
}

}  // namespace rankrun::agent
