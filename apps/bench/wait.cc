// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/wait.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace rankrun::bench {

using base::Clock;
using base::Duration;
using base::Result;
using base::TimePoint;

namespace {

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP};

// Yields what poll does: 0 when the deadline came first. `mask` holds the signals that are blocked
// meanwhile; null: those that are blocked anyway. A negative descriptor is never ready.
Result<int> poll_until(int fd, TimePoint deadline, const sigset_t* mask) {
  const Duration left = std::max(deadline - Clock::now(), Duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
  const int ready = ::ppoll(&wanted, 1, &limit, mask);
  if (ready < 0) return base::errno_failure(errno, {});
  return ready;
}

sigset_t no_signals() {
  sigset_t none;
  sigemptyset(&none);
  return none;
}

}  // namespace

// The signals stay blocked outside of ppoll, so one that comes between two waits is not lost.
InterruptibleWaits::InterruptibleWaits() {
  sigset_t stop;
  sigemptyset(&stop);
  struct sigaction interrupt {};
  interrupt.sa_handler = [](int) {};  // its only effect: ppoll returns
  for (const int signal : kStopSignals) {
    sigaddset(&stop, signal);
    ::sigaction(signal, &interrupt, nullptr);
  }
  ::pthread_sigmask(SIG_BLOCK, &stop, &mask_before_);
}

// Handlers stay: a signal that is pending by now has had its effect, we are about to exit.
InterruptibleWaits::~InterruptibleWaits() {
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

Result<void> wait_readable(int fd, TimePoint deadline) {
  const sigset_t none = no_signals();
  const Result<int> ready = poll_until(fd, deadline, &none);
  if (!ready) return base::failure(ready.error());
  if (*ready == 0) return base::failure(base::errc::timed_out, {});
  return {};
}

bool wait_undisturbed(int fd, TimePoint deadline) {
  const Result<int> ready = poll_until(fd, deadline, nullptr);
  return ready && *ready > 0;
}

Result<void> pause_for(Duration duration) {
  constexpr int kNoDescriptor = -1;
  const sigset_t none = no_signals();
  const Result<int> slept = poll_until(kNoDescriptor, Clock::now() + duration, &none);
  if (!slept) return base::failure(slept.error());
  return {};
}

bool was_interrupted(const base::Error& error) {
  return error.code == std::errc::interrupted;
}

}  // namespace rankrun::bench
