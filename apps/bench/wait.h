// SPDX-License-Identifier: Apache-2.0
// The only waits of rankbench: each has a deadline, and a signal to stop ends it.
#pragma once

#include "store/base/clock.h"
#include "store/base/result.h"

#include <signal.h>

namespace rankrun::bench {

/// While it lives, SIGINT, SIGTERM and SIGHUP do not end this process but the wait in progress or
/// the next one, which fails with std::errc::interrupted: so the owners of what was started get to
/// end and remove it. One at a time, on the main thread.
class InterruptibleWaits {
 public:
  InterruptibleWaits();
  ~InterruptibleWaits();
  InterruptibleWaits(const InterruptibleWaits&) = delete;
  InterruptibleWaits& operator=(const InterruptibleWaits&) = delete;

 private:
  sigset_t mask_before_{};
};

/// Fails with errc::timed_out or std::errc::interrupted.
base::Result<void> wait_readable(int fd, base::TimePoint deadline);

/// For destructors: a signal to stop is left to the next wait. False when `deadline` came first.
bool wait_undisturbed(int fd, base::TimePoint deadline);

/// Sleeps. Fails with std::errc::interrupted.
base::Result<void> pause_for(base::Duration duration);

bool was_interrupted(const base::Error& error);

}  // namespace rankrun::bench
