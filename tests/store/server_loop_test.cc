// SPDX-License-Identifier: Apache-2.0
// Who may stay, and who is served when.
#include "store/server_loop.h"

#include "store/errc.h"
#include "tests/store/running_server.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace rankrun::store::test {
namespace {

const std::string ready(1, '\0');

ServerOptions with_silence_limit(base::Duration limit) {
  ServerOptions options;
  options.silence_limit = limit;
  return options;
}

}  // namespace

TEST_CASE("who says nothing is closed after the limit, who spoke is not", "[store][server_loop]") {
  RunningServer running(with_silence_limit(std::chrono::milliseconds(50)));
  Client spoke = running.greeted();
  Client silent(running.server->port());
  Client half(running.server->port());
  half.send(handshake.substr(0, 4));
  REQUIRE(silent.receive_until_closed().empty());
  REQUIRE(half.receive_until_closed().empty());
  spoke.round_trip();
  const ServerReport report = running.server->stop();
  REQUIRE(report.refused_by_reason == std::map<errc, std::uint64_t>{{errc::silent_too_long, 2}});
}

TEST_CASE("the silent second connection of 1.13 stays as long as the first",
          "[store][server_loop]") {
  RunningServer running(with_silence_limit(std::chrono::milliseconds(30)));
  Client first(running.server->port());
  first.send(from_hex("06"));
  REQUIRE(first.receive(8) == u64(0));
  Client second(running.server->port());
  // Several limits: each turn of the loop after one would close it.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
  while (std::chrono::steady_clock::now() < until) {
    first.send(from_hex("06"));
    REQUIRE(first.receive(8) == u64(0));
  }
  REQUIRE(second.is_quiet());
  first.close();
  REQUIRE(second.receive_until_closed().empty());
}

TEST_CASE("when the table is full one that said nothing makes room", "[store][server_loop]") {
  ServerOptions options;
  options.max_connections = 2;
  RunningServer running(options);
  Client first = running.greeted();
  Client silent(running.server->port());
  Client second = running.greeted();
  REQUIRE(silent.receive_until_closed().empty());
  Client third(running.server->port());
  REQUIRE(third.receive_until_closed().empty());
  first.round_trip();
  second.round_trip();
  const ServerReport report = running.server->stop();
  REQUIRE(report.refused_by_reason ==
          std::map<errc, std::uint64_t>{{errc::made_room, 1}, {errc::too_many_connections, 1}});
}

TEST_CASE("a delete of 1.13 is answered after a pause", "[store][server_loop]") {
  RunningServer running;
  Client client(running.server->port());
  client.send(from_hex("00") + blob("/k") + blob("v"));
  for (const unsigned deleted : {1U, 0U, 0U}) {
    client.send(from_hex("08") + blob("/k"));
    REQUIRE(client.receive(8) == u64(deleted));
  }
  const ServerReport report = running.server->stop();
  REQUIRE(report.legacy_clients == 1);
  REQUIRE(report.proved_2_1 == 0);
}

TEST_CASE("very many that are released at once are all told", "[store][server_loop]") {
  constexpr int kWaiters = 1500;  // several turns' worth
  RunningServer running;
  std::vector<Client> waiters;
  for (int i = 0; i < kWaiters; ++i) {
    waiters.emplace_back(running.server->port()).send(handshake + add("/n", 1) + wait("/go"));
  }
  for (Client& waiter : waiters) {
    waiter.receive(8);
  }
  Client setter = running.greeted();
  setter.send(set("/go", "1"));
  for (Client& waiter : waiters) {
    REQUIRE(waiter.receive(1) == ready);
  }
  REQUIRE(running.server->stop().refused == 0);
}

}  // namespace rankrun::store::test
