// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/floor_server.h"

#include "apps/bench/store_wire.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace rankrun::bench {

using base::Result;
using base::UniqueFd;

namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
constexpr std::size_t kEventsAtOnce = 256;

void watch(int epoll, int operation, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  ::epoll_ctl(epoll, operation, fd, &event);
}

const std::string& constant_value() {
  static const std::string value = wire::blob("0123456789abcdef");
  return value;
}

}  // namespace

Result<FloorServer> FloorServer::open() {
  FloorServer server;
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  server.listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int listener = server.listener_.get();
  ::setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::bind(listener, any, size) != 0 || ::listen(listener, SOMAXCONN) != 0 ||
      ::getsockname(listener, any, &size) != 0) {
    return base::errno_failure(errno, "cannot listen");
  }
  server.port_ = ntohs(address.sin_port);
  server.epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  watch(server.epoll_.get(), EPOLL_CTL_ADD, listener, EPOLLIN);
  server.chunk_.resize(kChunkBytes);
  return server;
}

void FloorServer::run() {
  std::array<epoll_event, kEventsAtOnce> events{};
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == listener_.get()) {
        accept_all();
      } else {
        serve(fd);
      }
    }
  }
}

void FloorServer::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    connections_[fd] = Connection();
    watch(epoll_.get(), EPOLL_CTL_ADD, fd, EPOLLIN);
  }
}

void FloorServer::serve(int fd) {
  Connection& connection = connections_[fd];
  const bool lives = connection.rest.empty() ? read_some(fd, connection) : true;
  if (lives && write_some(fd, connection)) return;
  connections_.erase(fd);
  ::close(fd);
}

bool FloorServer::read_some(int fd, Connection& connection) {
  const ssize_t count = ::recv(fd, chunk_.data(), chunk_.size(), 0);
  if (count <= 0) return count < 0 && errno == EAGAIN;
  std::string_view bytes(chunk_.data(), static_cast<std::size_t>(count));
  if (connection.input.empty()) {
    bytes.remove_prefix(answer(fd, connection, bytes));
    connection.input = bytes;
  } else {
    connection.input += bytes;
    connection.input.erase(0, answer(fd, connection, connection.input));
  }
  return true;
}

std::size_t FloorServer::answer(int fd, Connection& connection, std::string_view bytes) {
  std::size_t done = 0;
  while (const std::size_t length = wire::request_length(bytes.substr(done))) {
    const std::string_view request = bytes.substr(done, length);
    done += length;
    switch (request[0]) {
      case '\x01':
        value_bytes_ = length - 1 - 2 * wire::kCountBytes - wire::read_u64(request.substr(1));
        wake();
        break;
      case '\x03':
        connection.reply += constant_value();
        break;
      case '\x04':
        connection.reply.append(request.substr(length - wire::kCountBytes));
        break;
      case '\x06':
        if (wire::read_u64(request.substr(1)) == 1) {
          waiting_.push_back(fd);
        } else {
          connection.reply += '\0';
        }
        break;
      case '\x0a':
        connection.rest = large_reply(wire::read_u64(request.substr(1)));
        break;
      case '\x0d':
        connection.reply.append(request.substr(1));
        break;
      default:
        break;
    }
  }
  return done;
}

void FloorServer::wake() {
  for (const int fd : std::exchange(waiting_, {})) {
    ::send(fd, "", 1, MSG_NOSIGNAL);
  }
}

std::string_view FloorServer::large_reply(std::size_t values) {
  const std::size_t size = values * (wire::kCountBytes + value_bytes_);
  if (large_reply_.size() == size) return large_reply_;
  const std::string one = wire::blob(std::string(value_bytes_, 'x'));
  large_reply_.clear();
  for (std::size_t i = 0; i < values; ++i) {
    large_reply_ += one;
  }
  return large_reply_;
}

bool FloorServer::write_some(int fd, Connection& connection) {
  if (!connection.reply.empty()) {
    const ssize_t sent = ::send(fd, connection.reply.data(), connection.reply.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(connection.reply.size())) return false;
    connection.reply.clear();
  }
  if (connection.rest.empty()) return true;
  const ssize_t sent = ::send(fd, connection.rest.data(), connection.rest.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) return false;
  if (sent > 0) connection.rest.remove_prefix(static_cast<std::size_t>(sent));
  watch(epoll_.get(), EPOLL_CTL_MOD, fd, connection.rest.empty() ? EPOLLIN : EPOLLOUT);
  return true;
}

}  // namespace rankrun::bench
