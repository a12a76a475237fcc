// SPDX-License-Identifier: Apache-2.0
#include "store/listener.h"

#include "store/errc.h"
#include "tests/store/client.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>

namespace rankrun::store::test {
namespace {

base::Result<std::optional<Accepted>> accept_waiting(Listener& listener) {
  constexpr int kLimitMs = 20'000;
  pollfd wanted{listener.fd(), POLLIN, 0};
  REQUIRE(::poll(&wanted, 1, kLimitMs) == 1);
  return listener.accept();
}

}  // namespace

TEST_CASE("a listener accepts who comes and tells from where", "[store][listener]") {
  auto listener = Listener::open({"127.0.0.2", 0});
  REQUIRE(listener);
  REQUIRE(listener->port() != 0);
  REQUIRE(!listener->accept().value());
  const Client client(listener->port(), "127.0.0.2");
  const auto accepted = accept_waiting(*listener);
  REQUIRE(accepted);
  REQUIRE(accepted->value().peer.host == "127.0.0.1");
  REQUIRE(accepted->value().peer.port != 0);
  const int fd = accepted->value().socket.get();
  REQUIRE((::fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
  REQUIRE((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a listener knows whether only this host can reach it", "[store][listener]") {
  REQUIRE(Listener::open({"127.0.0.1", 0})->is_on_loopback());
  REQUIRE(Listener::open({"127.9.8.7", 0})->is_on_loopback());
  REQUIRE(!Listener::open({"0.0.0.0", 0})->is_on_loopback());
}

TEST_CASE("a listener takes address literals only", "[store][listener]") {
  for (const char* text : {"localhost", "", "1.2.3", "127.0.0.1:1", "[::1]"}) {
    REQUIRE(Listener::open({text, 0}).error().code == errc::not_an_address);
  }
}

TEST_CASE("a closed listener leaves its port free", "[store][listener]") {
  auto listener = Listener::open({"127.0.0.1", 0});
  const std::uint16_t port = listener->port();
  REQUIRE(Listener::open({"127.0.0.1", port}).error().code == std::errc::address_in_use);
  listener->close();
  REQUIRE(Listener::open({"127.0.0.1", port}));
}

}  // namespace rankrun::store::test
