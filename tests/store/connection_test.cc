// SPDX-License-Identifier: Apache-2.0
// What one connection can do to itself and cannot do to others.
#include "store/connection.h"

#include "store/command.h"
#include "tests/store/running_server.h"

#include <catch2/catch.hpp>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace rankrun::store::test {
namespace {

const std::string ready(1, '\0');

std::string random_bytes(std::mt19937& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(random() & 0xff);
  }
  return bytes;
}

/// Round trips of one client drive the server through all that others have sent before.
void let_others_have_turns(Client& client) {
  for (int i = 0; i < 10; ++i) {
    client.round_trip();
  }
}

}  // namespace

TEST_CASE("a client stalled inside a request holds nobody up", "[store][connection]") {
  const RunningServer running;
  Client stalled = running.greeted();
  stalled.send(set("/k", std::string(100'000, 'x')).substr(0, 50'000));
  Client other = running.greeted();
  other.send(set("/k", "1") + get("/k"));
  REQUIRE(other.receive(9) == blob("1"));
  REQUIRE(stalled.is_quiet());
}

TEST_CASE("a client that does not read holds nobody up and gets all when it does",
          "[store][connection]") {
  const RunningServer running;
  const std::string value(kMaxValueBytes, 'x');
  Client other = running.greeted();
  other.send(set("/big", value));
  other.round_trip();
  Client lazy = running.greeted();
  for (int i = 0; i < 4; ++i) {
    lazy.send(get("/big"));
  }
  for (int i = 0; i < 100; ++i) {
    other.round_trip();
  }
  for (int i = 0; i < 4; ++i) {
    REQUIRE(lazy.receive(value.size() + 8) == blob(value));
  }
  lazy.round_trip();
}

TEST_CASE("a client that does not read is not read either", "[store][connection]") {
  const RunningServer running;
  Client other = running.greeted();
  other.send(set("/big", std::string(kMaxValueBytes, 'x')));
  other.round_trip();
  Client lazy = running.greeted();
  lazy.send(get("/big") + get("/big"));
  let_others_have_turns(other);
  // Once the kernel's buffers are full nothing more is taken, long before 64 MiB of requests.
  const std::string requests(1'048'576, '\x07');
  std::size_t sent = 0;
  std::size_t refused = 0;
  while (refused < 10 && sent < 64 * requests.size()) {
    const std::size_t count = lazy.send_some(requests);
    sent += count;
    if (count == 0) ++refused;
    other.round_trip();
  }
  REQUIRE(refused == 10);
}

TEST_CASE("a client that does not read within the limit is closed", "[store][connection]") {
  ServerOptions options;
  options.write_limit = std::chrono::milliseconds(50);
  RunningServer running(options);
  Client other = running.greeted();
  other.send(set("/big", std::string(kMaxValueBytes, 'x')));
  other.round_trip();
  Client lazy = running.greeted();
  for (int i = 0; i < 4; ++i) {
    lazy.send(get("/big"));
  }
  running.log->await("the client does not read its replies");
  REQUIRE(lazy.receive_until_closed().size() < 4 * kMaxValueBytes);
  other.round_trip();
  REQUIRE(running.server->stop().refused == 1);
}

TEST_CASE("pipelined requests with large replies are all answered in order",
          "[store][connection]") {
  const RunningServer running;
  Client client = running.greeted();
  const std::string value(524'288, 'x');
  std::string requests = set("/big", value);
  std::string expected;
  for (std::uint64_t i = 1; i <= 60; ++i) {
    requests += get("/big") + add("/c", 1);
    expected += blob(value) + u64(i);
  }
  client.send(requests);
  REQUIRE(client.receive(expected.size()) == expected);
}

TEST_CASE("one reply of very many pieces is sent whole", "[store][connection]") {
  const RunningServer running;
  Client client = running.greeted();
  const std::string value(5000, 'x');
  std::string request = set("/k", value) + "\x0a" + u64(3000);
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    request += blob("/k");
    expected += blob(value);
  }
  client.send(request);
  REQUIRE(client.receive(expected.size()) == expected);
}

TEST_CASE("a late release comes after the replies that were not read yet", "[store][connection]") {
  const RunningServer running;
  Client other = running.greeted();
  const std::string value(700'000, 'x');
  other.send(set("/v", value));
  other.round_trip();
  // At one of these counts the kernel takes a part of the last reply only: the server then holds
  // the rest and the wait. Before it takes all; after it the wait is not even read.
  for (std::size_t before = 0; before < 16; ++before) {
    const std::string key = "/w" + std::to_string(before);
    Client lazy = running.greeted();
    for (std::size_t i = 0; i < before; ++i) {
      lazy.send(get("/v"));
      let_others_have_turns(other);
    }
    lazy.send(get("/v") + wait(key));
    let_others_have_turns(other);
    other.send(set(key, "1"));
    other.round_trip();
    for (std::size_t i = 0; i <= before; ++i) {
      REQUIRE(lazy.receive(value.size() + 8) == blob(value));
    }
    REQUIRE(lazy.receive(1) == ready);
    lazy.round_trip();
  }
}

TEST_CASE("a release that crosses a cancel comes before its answer or not at all",
          "[store][connection]") {
  const RunningServer running;
  Client waiter = running.greeted();
  Client setter = running.greeted();
  for (int i = 0; i < 200; ++i) {
    const std::string key = "/k" + std::to_string(i);
    waiter.send(wait(key));
    setter.send(set(key, "1"));
    waiter.send("\x0c");
    std::string answer = waiter.receive(1);
    if (answer == ready) answer = waiter.receive(1);
    REQUIRE(answer == "\x01");
  }
  waiter.round_trip();
}

TEST_CASE("two hundred clients at once are all served", "[store][connection]") {
  RunningServer running;
  std::vector<Client> clients;
  clients.reserve(200);
  for (int i = 0; i < 200; ++i) {
    clients.emplace_back(running.server->port());
  }
  for (Client& client : clients) {
    client.send(handshake + add("init/", 1) + wait("/go"));
  }
  std::set<std::string> sums;
  for (Client& client : clients) {
    sums.insert(client.receive(8));
  }
  REQUIRE(sums.size() == 200);
  Client setter = running.greeted();
  setter.send(set("/go", "1"));
  for (Client& client : clients) {
    REQUIRE(client.receive(1) == ready);
  }
  const ServerReport report = running.server->stop();
  REQUIRE(report.modern_clients == 201);
  REQUIRE(report.joined == 200);
  REQUIRE(report.requests == 402);
  REQUIRE(report.refused == 0);
}

TEST_CASE("a waiting client that goes away is forgotten", "[store][connection]") {
  const RunningServer running;
  Client gone = running.greeted();
  gone.send(wait("/k"));
  gone.close();
  running.log->await("ended");
  Client setter = running.greeted();
  setter.send(set("/k", "1"));
  setter.round_trip();
}

TEST_CASE("requests before a bad one are answered, and only that connection is closed",
          "[store][connection]") {
  RunningServer running;
  Client other = running.greeted();
  Client bad = running.greeted();
  bad.send(add("/c", 1) + "\xff" + add("/c", 1));
  REQUIRE(bad.receive_until_closed() == u64(1));
  running.log->await("unknown request code");
  other.send(add("/c", 1));
  REQUIRE(other.receive(8) == u64(2));
  REQUIRE(running.server->stop().refused == 1);
}

TEST_CASE("random bytes close their connection or wait, and nobody else notices",
          "[store][connection]") {
  RunningServer running;
  Client other = running.greeted();
  std::mt19937 random(20240229);
  for (int i = 0; i < 300; ++i) {
    Client client(running.server->port());
    const std::string opening = i % 3 == 0 ? handshake : "";
    try {
      client.send(opening + random_bytes(random, 1 + random() % 2000));
    } catch (const std::system_error&) {
      // Closed before all was sent.
    }
    other.round_trip();
  }
  other.send(set("/k", "1") + get("/k"));
  REQUIRE(other.receive(9) == blob("1"));
  REQUIRE(running.server->stop().refused > 0);
}

TEST_CASE("truncations of a request leave the connection open", "[store][connection]") {
  const RunningServer running;
  const std::string request = handshake + add("/c", 1);
  std::vector<Client> clients;
  for (std::size_t length = 0; length < request.size(); ++length) {
    clients.emplace_back(running.server->port()).send(request.substr(0, length));
  }
  Client other = running.greeted();
  let_others_have_turns(other);
  for (std::size_t length = 0; length < request.size(); ++length) {
    INFO(length << " bytes");
    REQUIRE(clients[length].is_quiet());
    clients[length].send(request.substr(length));
    REQUIRE(clients[length].receive(8) == u64(length + 1));
  }
}

}  // namespace rankrun::store::test
