// SPDX-License-Identifier: Apache-2.0
// What strangers and broken clients send to a server over a socket: they are closed, with the
// reason counted, nobody else notices, and nothing of them stays.
#include "tests/store/bad_input.h"

#include "store/command.h"
#include "tests/store/running_server.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <map>
#include <string>

namespace rankrun::store::test {
TEST_CASE("bad input over a socket is answered by a close, counted with its reason",
          "[store][bad_input]") {
  RunningServer running;
  Client other = running.greeted();
  std::map<errc, std::uint64_t> expected;
  for (const BadInput& bad : bad_inputs()) {
    INFO(bad.name);
    Client client(running.server->port());
    client.send(bad.bytes);
    REQUIRE(client.receive_until_closed() == bad.answer);
    other.round_trip();
    ++expected[bad.reason];
  }
  const ServerReport report = running.server->stop();
  REQUIRE(report.refused_by_reason == expected);
}

TEST_CASE("whoever goes in the middle of any request leaves the others served",
          "[store][bad_input]") {
  RunningServer running;
  Client other = running.greeted();
  std::uint64_t silent = 0;
  for (const auto& [opening, bytes] : whole_requests()) {
    const std::string whole = opening + bytes;
    for (std::size_t length = 1; length < whole.size(); ++length) {
      Client(running.server->port()).send(whole.substr(0, length));
      ++silent;
    }
    other.round_trip();
  }
  for (int i = 0; i < 1000; ++i) {
    other.round_trip();  // until all are seen to have gone
  }
  const ServerReport report = running.server->stop();
  REQUIRE(report.refused == 0);
  REQUIRE(report.silent == silent);
}

// Sanitizers keep freed memory back.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

/// Anonymous resident memory of this process, the server included.
std::size_t private_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoul(line.substr(8)) * 1024;
  }
  throw std::runtime_error("no RssAnon");
}

/// Sends what the server may have closed on already.
void send_regardless(Client& client, const std::string& bytes) {
  try {
    client.send(bytes);
  } catch (const std::system_error&) {
    // Closed before all was sent.
  }
}

}  // namespace

TEST_CASE("nothing stays in memory of connections that came to nothing", "[store][bad_input]") {
  constexpr int kConnections = 4000;
  const RunningServer running;
  Client other = running.greeted();
  const std::string half = handshake + set("/k", std::string(kMebibyte, 'x'));
  const auto probe = [&](const std::string& bytes) {
    Client client(running.server->port());
    send_regardless(client, bytes);
    other.round_trip();
  };
  probe("GET / HTTP/1.1\r\n\r\n");
  probe(half.substr(0, half.size() / 2));
  const std::size_t before = private_memory();
  for (int i = 0; i < kConnections; ++i) {
    probe("GET / HTTP/1.1\r\n\r\n");
    probe(handshake.substr(0, 3));
    probe(handshake + "\xff");
  }
  for (int i = 0; i < 100; ++i) {
    probe(half.substr(0, half.size() / 2));
  }
  REQUIRE(private_memory() < before + 8 * kMebibyte);
}

TEST_CASE("replies that nobody reads are not copied", "[store][bad_input]") {
  const RunningServer running;
  Client other = running.greeted();
  other.send(set("/big", std::string(kMaxValueBytes, 'x')));
  other.round_trip();
  std::string request = handshake + "\x0a" + u64(16);
  for (int i = 0; i < 16; ++i) {
    request += blob("/big");
  }
  const std::size_t before = private_memory();
  std::vector<Client> lazy;
  for (int i = 0; i < 50; ++i) {
    lazy.emplace_back(running.server->port()).send(request + request);
    other.round_trip();
  }
  REQUIRE(private_memory() < before + 8 * kMebibyte);
}
#endif

}  // namespace rankrun::store::test
