// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/store_clients.h"

#include "apps/bench/store_wire.h"
#include "apps/bench/wait.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

namespace rankrun::bench {

using base::Clock;
using base::failure;
using base::Result;
using base::TimePoint;
using base::UniqueFd;

namespace {

constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
constexpr std::size_t kEventsAtOnce = 256;
constexpr base::Duration kLimit = std::chrono::seconds(60);  // for what takes milliseconds

Result<UniqueFd> open_socket() {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return base::errno_failure(errno, "cannot make a socket", "raise ulimit -n");
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // Closed by a reset, so that no port is kept back from the next measurement.
  const linger reset{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  return socket;
}

void watch(int epoll, int operation, int fd, std::size_t client, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = client;
  ::epoll_ctl(epoll, operation, fd, &event);
}

void await_room(int fd) {
  constexpr int kLimitMs = 10'000;
  pollfd wanted{.fd = fd, .events = POLLOUT, .revents = 0};
  ::poll(&wanted, 1, kLimitMs);
}

}  // namespace

Result<StoreClients> StoreClients::open() {
  StoreClients clients;
  clients.epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!clients.epoll_) return base::errno_failure(errno, "cannot open epoll");
  clients.chunk_.resize(kChunkBytes);
  return clients;
}

Result<std::size_t> StoreClients::start_connecting(std::uint16_t port) {
  Result<UniqueFd> socket = open_socket();
  if (!socket) return failure(std::move(socket.error()));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::connect(socket->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS) {
    return base::errno_failure(errno, "cannot connect");
  }
  const std::size_t client = sockets_.size();
  watch(epoll_.get(), EPOLL_CTL_ADD, socket->get(), client, EPOLLIN);
  sockets_.push_back(std::move(*socket));
  return client;
}

Result<void> StoreClients::connect(std::uint16_t port, std::size_t count, Greet greet) {
  for (; count > 0; --count) {
    const Result<std::size_t> client = start_connecting(port);
    if (!client) return failure(client.error());
    await_room(sockets_[*client].get());
    if (greet == Greet::no) continue;
    auto done = send(*client, wire::handshake());
    if (done) done = round_trip(*client);
    if (!done) return done;
  }
  return {};
}

Result<void> StoreClients::round_trip(std::size_t client) {
  if (auto sent = send(client, wire::ping()); !sent) return sent;
  const auto answer = receive_exactly(client, wire::kPingReplyBytes);
  if (!answer) return failure(answer.error());
  return {};
}

Result<std::size_t> StoreClients::send_some(std::size_t client, std::string_view bytes) {
  const ssize_t sent = ::send(sockets_[client].get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
  return base::errno_failure(errno, "cannot send");
}

Result<void> StoreClients::send(std::size_t client, std::string_view bytes) {
  for (;;) {
    const Result<std::size_t> sent = send_some(client, bytes);
    if (!sent) return failure(sent.error());
    bytes.remove_prefix(*sent);
    if (bytes.empty()) return {};
    await_room(sockets_[client].get());
  }
}

Result<std::string_view> StoreClients::receive(std::size_t client) {
  const ssize_t count = ::recv(sockets_[client].get(), chunk_.data(), chunk_.size(), 0);
  if (count > 0) return std::string_view(chunk_.data(), static_cast<std::size_t>(count));
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::string_view();
  return base::errno_failure(count == 0 ? ECONNRESET : errno, "the server closed a connection");
}

Result<std::string> StoreClients::receive_exactly(std::size_t client, std::size_t count) {
  std::string bytes;
  const TimePoint deadline = Clock::now() + kLimit;
  while (bytes.size() < count) {
    if (auto ready = wait_readable(sockets_[client].get(), deadline); !ready) {
      return failure(ready.error().within("waiting for a reply"));
    }
    const auto more = receive(client);
    if (!more) return failure(more.error());
    bytes += *more;
  }
  return bytes;
}

void StoreClients::watch_room(std::size_t client, bool wanted) {
  const std::uint32_t events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN;
  watch(epoll_.get(), EPOLL_CTL_MOD, sockets_[client].get(), client, events);
}

Result<std::span<const std::size_t>> StoreClients::wait(TimePoint deadline) {
  constexpr int kSliceMs = 100;  // so that a signal to stop, which is blocked here, is seen soon
  return ready_within(kSliceMs, deadline);
}

Result<std::span<const std::size_t>> StoreClients::wait_until(TimePoint until, TimePoint deadline) {
  const base::Duration left = std::max(until - Clock::now(), base::Duration::zero());
  const timespec limit{.tv_sec = 0, .tv_nsec = left.count()};  // it is far less than a second
  pollfd any{.fd = epoll_.get(), .events = POLLIN, .revents = 0};
  ::ppoll(&any, 1, &limit, nullptr);
  return ready_within(0, deadline);
}

Result<std::span<const std::size_t>> StoreClients::ready_within(int milliseconds,
                                                                TimePoint deadline) {
  std::array<epoll_event, kEventsAtOnce> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), milliseconds);
  ready_.clear();
  for (int i = 0; i < count; ++i) {
    ready_.push_back(events[static_cast<std::size_t>(i)].data.u64);
  }
  if (!ready_.empty()) return std::span<const std::size_t>(ready_);
  if (auto interrupted = pause_for({}); !interrupted) return failure(interrupted.error());
  if (Clock::now() >= deadline) return failure(base::errc::timed_out, "waiting for replies");
  return std::span<const std::size_t>(ready_);
}

Result<void> StoreClients::run_until(std::size_t count,
                                     TimePoint deadline,
                                     const OnReady& on_ready) {
  while (count > 0) {
    const auto ready = wait(deadline);
    if (!ready) return failure(ready.error());
    for (const std::size_t client : *ready) {
      const Result<bool> finished = on_ready(client);
      if (!finished) return failure(finished.error());
      if (*finished && --count == 0) return {};
    }
  }
  return {};
}

}  // namespace rankrun::bench
