// SPDX-License-Identifier: Apache-2.0
#include "store/listener.h"

#include "store/base/listen.h"
#include "store/errc.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rankrun::store {
namespace {

/// An address of either family, in the form that the system calls want.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr_in& v4() const { return reinterpret_cast<const sockaddr_in&>(storage); }
  const sockaddr_in6& v6() const { return reinterpret_cast<const sockaddr_in6&>(storage); }
  bool is_v6() const { return storage.ss_family == AF_INET6; }
  std::uint16_t port() const { return ntohs(is_v6() ? v6().sin6_port : v4().sin_port); }
};

template <typename Address>
SocketAddress to_socket_address(const Address& address) {
  SocketAddress result;
  std::memcpy(&result.storage, &address, sizeof address);
  result.size = sizeof address;
  return result;
}

std::optional<SocketAddress> parse(const base::Endpoint& endpoint) {
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, endpoint.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    return to_socket_address(v4);
  }
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET6, endpoint.host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
    return to_socket_address(v6);
  }
  return std::nullopt;
}

bool is_loopback(const SocketAddress& address) {
  constexpr std::uint32_t kLoopbackNet = 127;
  if (address.is_v6()) return IN6_IS_ADDR_LOOPBACK(&address.v6().sin6_addr);
  return ntohl(address.v4().sin_addr.s_addr) >> 24 == kLoopbackNet;
}

base::Endpoint to_endpoint(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = &address.v4().sin_addr;
  if (address.is_v6()) bytes = &address.v6().sin6_addr;
  ::inet_ntop(address.storage.ss_family, bytes, text.data(), text.size());
  return {text.data(), address.port()};
}

/// Of one connection that is gone already, or that a filter forbids; the next may be well.
bool concerns_one_connection(int error) {
  return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM;
}

}  // namespace

base::Result<Listener> Listener::open(const base::Endpoint& endpoint) {
  auto address = parse(endpoint);
  if (!address) return base::failure(errc::not_an_address, {});
  auto socket = base::listen_on(address->get(), address->size, base::IpVersions::own);
  if (!socket) return base::failure(std::move(socket.error()));
  Listener listener;
  listener.socket_ = *std::move(socket);
  if (::getsockname(listener.fd(), address->get(), &address->size) != 0) {
    return base::errno_failure(errno, {});
  }
  listener.port_ = address->port();
  listener.is_on_loopback_ = is_loopback(*address);
  return listener;
}

base::Result<std::optional<Accepted>> Listener::accept() {
  for (;;) {
    SocketAddress peer;
    base::UniqueFd socket(::accept4(fd(), peer.get(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) return Accepted{std::move(socket), to_endpoint(peer)};
    if (errno == EAGAIN) return std::nullopt;
    if (!concerns_one_connection(errno)) return base::errno_failure(errno, {});
  }
}

}  // namespace rankrun::store
