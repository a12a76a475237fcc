// SPDX-License-Identifier: Apache-2.0
#include "store/server.h"

#include "store/errc.h"
#include "tests/store/running_server.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace rankrun::store::test {
namespace {

std::set<int> open_descriptors() {
  std::set<int> descriptors;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    descriptors.insert(std::stoi(entry.path().filename()));
  }
  // The iterator's own is closed by now.
  std::erase_if(descriptors, [](int fd) { return ::fcntl(fd, F_GETFD) < 0; });
  return descriptors;
}

/// The blocked signals of the thread of that name, as the kernel's bit mask.
std::uint64_t blocked_signals(const std::string& thread) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    bool is_thread = false;
    for (std::string line; std::getline(status, line);) {
      if (line == "Name:\t" + thread) is_thread = true;
      if (is_thread && line.starts_with("SigBlk:")) return std::stoull(line.substr(8), nullptr, 16);
    }
  }
  throw std::runtime_error("no thread " + thread);
}

/// While it lives no further descriptor can be opened by this process.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = ::dup(0);
    ::close(lowest_free);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(lowest_free);
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

 private:
  rlimit before_{};
};

base::Error error_of(ServerOptions options) {
  auto log = std::make_shared<spdlog::logger>("test", std::make_shared<LogCapture>());
  const auto server = Server::start(std::move(options), log);
  REQUIRE(!server);
  return server.error();
}

ServerOptions bound_to(std::string address, std::uint16_t port = 0) {
  ServerOptions options;
  options.address = std::move(address);
  options.port = port;
  return options;
}

const std::string multi_set_of_two =
    "\x0b" + u64(2) + blob("/a") + blob("1") + blob("/b") + blob("2");
const std::string legacy_init = "\x03" + blob("init/") + u64(1);

}  // namespace

TEST_CASE("a server that nobody talks to starts and stops", "[store][server]") {
  RunningServer running;
  REQUIRE(running.server->port() != 0);
  REQUIRE(running.server->stop() == ServerReport());
}

TEST_CASE("a server that is not stopped stops when it is destroyed", "[store][server]") {
  RunningServer running;
  Client client = running.greeted();
  running.server.reset();
  REQUIRE(client.receive_until_closed().empty());
}

TEST_CASE("stop closes all connections whatever they are doing", "[store][server]") {
  RunningServer running;
  Client idle = running.greeted();
  Client silent(running.server->port());
  Client waiting = running.greeted();
  waiting.send(wait("/never"));
  Client partial = running.greeted();
  partial.send(set("/k", std::string(1000, 'x')).substr(0, 500));
  Client lazy = running.greeted();
  lazy.send(set("/big", std::string(8'000'000, 'x')) + get("/big") + get("/big"));
  for (int i = 0; i < 10; ++i) {
    idle.round_trip();
  }
  running.server->stop();
  for (Client* client : {&idle, &silent, &waiting, &partial}) {
    REQUIRE(client->receive_until_closed().empty());
  }
  REQUIRE(lazy.receive_until_closed().size() < 16'000'000);
  REQUIRE(running.log->count("store:") == 0);  // a stop is nobody's error
}

TEST_CASE("a port can be served again at once after a stop", "[store][server]") {
  RunningServer running;
  const std::uint16_t port = running.server->port();
  Client client = running.greeted();
  running.server->stop();
  const RunningServer again(bound_to("127.0.0.1", port));
  REQUIRE(again.server->port() == port);
  again.greeted();
}

TEST_CASE("a port in use is an error with a remedy", "[store][server]") {
  const RunningServer running;
  const base::Error error = error_of(bound_to("127.0.0.1", running.server->port()));
  REQUIRE(error.code == std::errc::address_in_use);
  REQUIRE(error.context ==
          "cannot serve the store on 127.0.0.1:" + std::to_string(running.server->port()));
  REQUIRE(!error.remedy.empty());
}

TEST_CASE("only address literals of this host can be bound", "[store][server]") {
  for (const char* text : {"localhost", "", "127.0.0.1:80", "[::1]", "127.0.0.256"}) {
    REQUIRE(error_of(bound_to(text)).code == errc::not_an_address);
  }
  REQUIRE(error_of(bound_to("192.0.2.1")).code == std::errc::address_not_available);
}

TEST_CASE("an IPv6 literal serves IPv6 and nothing else", "[store][server]") {
  auto log = std::make_shared<spdlog::logger>("test", std::make_shared<LogCapture>());
  const auto server = Server::start(bound_to("::"), log);
  if (!server) {
    WARN("SKIPPED: this host has no IPv6: " << server.error().message());
    return;
  }
  Client client((*server)->port(), "::1");
  client.greet();
  REQUIRE_THROWS_AS(Client((*server)->port(), "127.0.0.1"), std::system_error);
}

TEST_CASE("legacy clients are served on loopback only, or wherever the owner says",
          "[store][server]") {
  ServerOptions options;
  bool served = true;
  SECTION("loopback") {
    options.address = "127.0.0.2";
  }
  SECTION("all interfaces") {
    options.address = "0.0.0.0";
    served = false;
  }
  SECTION("all interfaces, allowed") {
    options.address = "0.0.0.0";
    options.legacy = LegacyClients::always;
  }
  RunningServer running(options);
  Client client(running.server->port(), "127.0.0.2");
  client.send(legacy_init);
  REQUIRE(client.receive(8) == (served ? u64(1) : ""));
  const ServerReport report = running.server->stop();
  REQUIRE(report.legacy_clients == (served ? 1 : 0));
  REQUIRE(report.refused == (served ? 0 : 1));
}

TEST_CASE("the report tells who came and what is left", "[store][server]") {
  RunningServer running;
  Client modern = running.greeted();
  modern.send(multi_set_of_two);
  modern.round_trip();
  Client legacy(running.server->port());
  Client silent(running.server->port());
  legacy.send(legacy_init + legacy_init);
  REQUIRE(legacy.receive(16) == u64(1) + u64(2));
  Client probe(running.server->port());
  probe.send("GET / HTTP/1.1\r\n\r\n");
  REQUIRE(probe.receive_until_closed().empty());

  ServerReport expected;
  expected.modern_clients = 1;
  expected.legacy_clients = 1;
  expected.silent = 1;
  expected.refused = 1;
  expected.refused_by_reason = {{errc::unknown_protocol, 1}};
  expected.requests = 5;  // two PINGs, a MULTI_SET, two ADDs
  expected.joined = 2;
  expected.keys_at_stop = 3;
  REQUIRE(running.server->stop() == expected);
}

TEST_CASE("connections above the limit are closed at once", "[store][server]") {
  ServerOptions options;
  options.max_connections = 2;
  RunningServer running(options);
  Client first = running.greeted();
  Client second = running.greeted();
  Client third(running.server->port());
  REQUIRE(third.receive_until_closed().empty());
  first.round_trip();
  second.close();
  running.log->await("ended");
  const Client fourth = running.greeted();
  REQUIRE(running.log->count(make_error_code(errc::too_many_connections).message()) == 1);
  REQUIRE(running.server->stop().refused == 1);
}

// Not with sanitizers of addresses and undefined behaviour: g++ 12's check of virtual tables opens
// a pipe to probe memory, and reports an error when it cannot.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("when descriptors run out accepting rests, says so once, and goes on",
          "[store][server]") {
  RunningServer running;
  Client served = running.greeted();
  Client waiting;
  {
    const NoMoreDescriptors none;
    waiting.connect(running.server->port());
    running.log->await("cannot accept connections for now");
    served.round_trip();
  }
  waiting.greet();
  REQUIRE(running.log->count("cannot accept connections for now") == 1);
}
#endif

TEST_CASE("no descriptor of a server reaches a child, and replies are not delayed",
          "[store][server]") {
  const std::set<int> before = open_descriptors();
  const RunningServer running;
  const Client client = running.greeted();
  int without_delay = 0;
  for (const int fd : open_descriptors()) {
    if (before.contains(fd)) continue;
    INFO("descriptor " << fd << ", "
                       << std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)));
    REQUIRE((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    int no_delay = 0;
    socklen_t size = sizeof no_delay;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &size) == 0 && no_delay != 0) {
      ++without_delay;
    }
  }
  REQUIRE(without_delay == 3);  // the listener and both ends of the connection
}

TEST_CASE("the thread of a server takes no signals", "[store][server]") {
  const RunningServer running;
  running.greeted();
  const std::uint64_t blocked = blocked_signals("rankrun-store");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGPIPE}) {
    REQUIRE((blocked >> (signal - 1) & 1) == 1);
  }
}

}  // namespace rankrun::store::test
