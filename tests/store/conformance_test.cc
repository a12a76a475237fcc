// SPDX-License-Identifier: Apache-2.0
// Every vector of tests/conformance three times: codec and map alone, as written and byte by byte,
// and a server over a socket.
#include "store/codec.h"
#include "store/key_value.h"
#include "store/server.h"
#include "tests/store/client.h"
#include "tests/store/vectors.h"

#include <catch2/catch.hpp>
#include <spdlog/sinks/null_sink.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

namespace rankrun::store::test {
namespace {

const std::string handshake = from_hex("00cef7853c");

/// The store without a network: for each connection a decoder, and what was sent to it.
class PureStore {
 public:
  explicit PureStore(std::size_t bytes_per_feed) : bytes_per_feed_(bytes_per_feed) {}

  void open(char) {}
  void settle() {}

  void send(char name, const std::string& bytes) {
    auto rest = std::as_bytes(std::span(bytes));
    while (!rest.empty() && !at(name).closed) {
      auto piece = rest.first(std::min(rest.size(), bytes_per_feed_));
      rest = rest.subspan(piece.size());
      feed(name, piece);
    }
  }

  /// No byte follows, so what was undecided is decided.
  std::string receive(char name, std::size_t count) {
    if (at(name).decoder.undecided()) apply(name, *at(name).decoder.decide());
    std::string bytes = at(name).sent.substr(0, count);
    at(name).sent.erase(0, count);
    return bytes;
  }

  bool is_quiet(char name) { return at(name).sent.empty() && !at(name).closed; }
  bool is_closed_silently(char name) { return at(name).sent.empty() && at(name).closed; }
  void close(char name) { end(name); }

 private:
  struct Connection {
    Decoder decoder{Legacy::accepted};
    std::string sent;
    bool closed = false;
  };

  Connection& at(char name) { return connections_[name]; }

  void feed(char name, std::span<const std::byte> bytes) {
    Connection& connection = at(name);
    while (!bytes.empty()) {
      auto command = connection.decoder.next(bytes);
      if (!command) return end(name);
      if (*command != nullptr && !apply(name, **command)) return end(name);
    }
  }

  bool apply(char name, Command& command) {
    auto outcome = keys_.apply(static_cast<ConnectionId>(name), command);
    if (!outcome) return false;
    put(name, outcome->reply);
    for (const ConnectionId id : outcome->released) {
      put(static_cast<char>(id), Flag{0});
    }
    return true;
  }

  void put(char name, const Reply& reply) {
    Output output;
    encode(reply, output);
    std::array<std::string_view, 64> views;
    const std::size_t count = output.gather(views);
    for (std::size_t i = 0; i < count; ++i) {
      at(name).sent += views[i];
    }
  }

  void end(char name) {
    keys_.drop(static_cast<ConnectionId>(name));
    at(name).closed = true;
  }

  const std::size_t bytes_per_feed_;
  KeyValue keys_;
  std::map<char, Connection> connections_;
};

/// A server and its clients. After each step the server has seen all that was sent.
class SocketStore {
 public:
  SocketStore() {
    auto log =
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
    server_ = std::move(Server::start(ServerOptions(), log).value());
    control_ = std::make_unique<Client>(server_->port());
    control_->greet();
  }

  void open(char name) { at(name); }

  /// The server takes ready connections in turn, one chunk each, so round trips of another
  /// connection drive it through accepting a connection and reading what has arrived on it.
  void settle() {
    for (int i = 0; i < 10; ++i) {
      control_->round_trip();
    }
  }

  void send(char name, const std::string& bytes) { at(name).send(bytes); }
  std::string receive(char name, std::size_t count) { return at(name).receive(count); }
  bool is_quiet(char name) { return at(name).is_quiet(); }
  bool is_closed_silently(char name) { return at(name).receive_until_closed().empty(); }
  void close(char name) { at(name).close(); }

 private:
  Client& at(char name) {
    auto& client = clients_[name];
    if (!client) client = std::make_unique<Client>(server_->port());
    return *client;
  }

  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> control_;
  std::map<char, std::unique_ptr<Client>> clients_;
};

template <typename Store>
void expect_in_any_order(Store& store, const Step& step) {
  std::vector<std::string> wanted = step.bytes;
  while (!wanted.empty()) {
    const std::string got = store.receive(step.connection, wanted.front().size());
    const auto found = std::find(wanted.begin(), wanted.end(), got);
    REQUIRE(found != wanted.end());
    wanted.erase(found);
  }
}

template <typename Store>
void run_step(Store& store, const Step& step) {
  const char name = step.connection;
  switch (step.kind) {
    case StepKind::send:
      store.send(name, step.bytes[0]);
      break;
    case StepKind::expect:
      REQUIRE(store.receive(name, step.bytes[0].size()) == step.bytes[0]);
      break;
    case StepKind::expect_in_any_order:
      expect_in_any_order(store, step);
      break;
    case StepKind::expect_nothing:
      REQUIRE(store.is_quiet(name));
      break;
    case StepKind::expect_close:
      REQUIRE(store.is_closed_silently(name));
      break;
    case StepKind::close:
      store.close(name);
      break;
  }
  store.settle();
}

template <typename Store>
void run(Store& store, const Vector& vector) {
  std::map<char, bool> ended;  // by name; those still open must have no byte left over
  for (const Step& step : vector.steps) {
    INFO(step.text);
    if (ended.emplace(step.connection, false).second) {
      store.open(step.connection);
      if (!vector.raw) store.send(step.connection, handshake);
      store.settle();
    }
    run_step(store, step);
    if (step.kind == StepKind::expect_close || step.kind == StepKind::close) {
      ended[step.connection] = true;
    }
  }
  for (const auto& [name, is_over] : ended) {
    INFO("at the end of connection " << name);
    REQUIRE((is_over || store.is_quiet(name)));
  }
}

const std::vector<Vector>& all_vectors() {
  static const std::vector<Vector> vectors = [] {
    auto all = read_vectors("c10d_modern.txt");
    for (const char* file : {"c10d_legacy.txt", "c10d_legacy_2_1.txt"}) {
      const auto legacy = read_vectors(file);
      all.insert(all.end(), legacy.begin(), legacy.end());
    }
    return all;
  }();
  return vectors;
}

}  // namespace

TEST_CASE("no vector is missing", "[store][conformance]") {
  REQUIRE(read_vectors("c10d_modern.txt").size() == 51);
  REQUIRE(read_vectors("c10d_legacy.txt").size() == 7);
  REQUIRE(read_vectors("c10d_legacy_2_1.txt").size() == 3);
}

TEST_CASE("codec and map give every reply of the reference", "[store][conformance]") {
  for (const Vector& vector : all_vectors()) {
    DYNAMIC_SECTION(vector.name) {
      PureStore store(std::string::npos);
      run(store, vector);
    }
  }
}

TEST_CASE("codec and map give every reply of the reference when bytes come one by one",
          "[store][conformance]") {
  for (const Vector& vector : all_vectors()) {
    DYNAMIC_SECTION(vector.name) {
      PureStore store(1);
      run(store, vector);
    }
  }
}

TEST_CASE("a server gives every reply of the reference over a socket", "[store][conformance]") {
  for (const Vector& vector : all_vectors()) {
    DYNAMIC_SECTION(vector.name) {
      SocketStore store;
      run(store, vector);
    }
  }
}

}  // namespace rankrun::store::test
