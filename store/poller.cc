// SPDX-License-Identifier: Apache-2.0
#include "store/poller.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace rankrun::store {
namespace {

epoll_event event_for(std::uint64_t tag, Interest interest) {
  epoll_event event{};
  event.data.u64 = tag;
  if (interest == Interest::reading) event.events = EPOLLIN;
  if (interest == Interest::writing) event.events = EPOLLOUT;
  return event;
}

/// Rounded up, so that what is waited for is over when the wait is.
int milliseconds_until(std::optional<base::TimePoint> until) {
  constexpr int kForever = -1;
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(1);
  if (!until) return kForever;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - base::Clock::now());
  return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), kLongest).count());
}

}  // namespace

base::Result<Poller> Poller::open() {
  Poller poller;
  poller.epoll_ = base::UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!poller.epoll_) return base::errno_failure(errno, {});
  poller.interruption_ = base::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!poller.interruption_) return base::errno_failure(errno, {});
  const auto added = poller.add(poller.interruption_.get(), kInterruptionTag, Interest::reading);
  if (!added) return base::failure(added.error());
  return poller;
}

base::Result<void> Poller::add(int fd, std::uint64_t tag, Interest interest) {
  epoll_event event = event_for(tag, interest);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return base::errno_failure(errno, {});
  }
  return {};
}

void Poller::change(int fd, std::uint64_t tag, Interest interest) {
  epoll_event event = event_for(tag, interest);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);  // cannot fail for what was added
}

std::span<const epoll_event> Poller::wait(std::optional<base::TimePoint> until) {
  const int count = ::epoll_wait(
      epoll_.get(), events_.data(), static_cast<int>(events_.size()), milliseconds_until(until));
  const auto ready = std::span(events_).first(static_cast<std::size_t>(std::max(count, 0)));
  for (const epoll_event& event : ready) {
    if (event.data.u64 == kInterruptionTag) is_interrupted_ = true;
  }
  return ready;
}

void Poller::interrupt() {
  ::eventfd_write(interruption_.get(), 1);
}

}  // namespace rankrun::store
