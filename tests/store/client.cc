// SPDX-License-Identifier: Apache-2.0
#include "tests/store/client.h"

#include "tests/store/vectors.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace rankrun::store::test {
namespace {

constexpr int kLimitMs = 20'000;
constexpr std::size_t kBytesAtOnce = std::size_t{64} << 10;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

base::UniqueFd open_socket(int family) {
  base::UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // As PyTorch does; and without it what a test sends may be held back behind what it sent before.
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

bool is_v6(const char* address) {
  return std::string_view(address).find(':') != std::string_view::npos;
}

template <typename Address>
void connect_to(int fd, const Address& address) {
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail("connect");
  }
}

}  // namespace

Client::Client() : fd_(open_socket(AF_INET)) {}

Client::Client(std::uint16_t port, const char* address)
    : fd_(open_socket(is_v6(address) ? AF_INET6 : AF_INET)) {
  connect(port, address);
}

void Client::connect(std::uint16_t port, const char* address) {
  if (is_v6(address)) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    ::inet_pton(AF_INET6, address, &to.sin6_addr);
    connect_to(fd_.get(), to);
  } else {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    ::inet_pton(AF_INET, address, &to.sin_addr);
    connect_to(fd_.get(), to);
  }
}

void Client::await(short events) {
  pollfd entry{fd_.get(), events, 0};
  const int ready = ::poll(&entry, 1, kLimitMs);
  if (ready < 0) fail("poll");
  if (ready == 0) throw std::runtime_error("the server did nothing within the limit of a test");
}

std::size_t Client::send_some(std::string_view bytes) {
  const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno != EAGAIN) fail("send");
  return 0;
}

void Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    bytes.remove_prefix(send_some(bytes));
    if (!bytes.empty()) await(POLLOUT);
  }
}

std::string Client::receive_some(std::size_t most) {
  await(POLLIN);
  std::string bytes(most, '\0');
  const ssize_t got = ::recv(fd_.get(), bytes.data(), most, 0);
  if (got < 0 && errno != ECONNRESET) fail("recv");
  bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return bytes;
}

std::string Client::receive(std::size_t count) {
  std::string bytes;
  bytes.reserve(count);
  while (bytes.size() < count) {
    const std::string more = receive_some(std::min(count - bytes.size(), kBytesAtOnce));
    if (more.empty()) break;
    bytes += more;
  }
  return bytes;
}

std::string Client::receive_until_closed() {
  std::string all;
  for (;;) {
    const std::string more = receive_some(kBytesAtOnce);
    if (more.empty()) return all;
    all += more;
  }
}

bool Client::is_quiet() {
  char byte = 0;
  return ::recv(fd_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

void Client::greet() {
  send(from_hex("00cef7853c"));
  round_trip();
}

void Client::round_trip() {
  send(from_hex("0d78563412"));
  if (receive(4) != from_hex("78563412")) throw std::runtime_error("the PING came back wrong");
}

}  // namespace rankrun::store::test
