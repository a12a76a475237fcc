// SPDX-License-Identifier: Apache-2.0
// Which sockets are ready: epoll, and a way to end the wait from another thread.
#pragma once

#include "store/base/clock.h"
#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace rankrun::store {

enum class Interest { nothing, reading, writing };

/// The tag that no descriptor may have.
inline constexpr std::uint64_t kInterruptionTag = 0;

/// Used by one thread, but interrupt(). Level-triggered: what is left undone is told again.
class Poller {
 public:
  /// Fails for want of descriptors.
  static base::Result<Poller> open();

  /// `tag` comes back with each event of `fd`; closing `fd` takes it off.
  base::Result<void> add(int fd, std::uint64_t tag, Interest interest);
  void change(int fd, std::uint64_t tag, Interest interest);

  /// What is ready, in `data.u64` the tag. Waits until something is, `until` has come (nothing: for
  /// as long as it takes) or it is interrupted.
  std::span<const epoll_event> wait(std::optional<base::TimePoint> until);

  /// From then on wait() returns at once and is_interrupted() holds. From any thread.
  void interrupt();
  bool is_interrupted() const { return is_interrupted_; }

 private:
  Poller() = default;

  base::UniqueFd epoll_;
  base::UniqueFd interruption_;
  bool is_interrupted_ = false;
  std::array<epoll_event, 256> events_{};
};

}  // namespace rankrun::store
