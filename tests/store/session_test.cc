// SPDX-License-Identifier: Apache-2.0
#include "store/session.h"

#include "tests/store/allocations.h"
#include "tests/store/bad_input.h"
#include "tests/store/requests.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace rankrun::store::test {
namespace {

constexpr ConnectionId kA = 1;
constexpr ConnectionId kB = 2;
const std::string ready(1, '\0');

Service serving_all() {
  Service service;
  service.legacy = Legacy::accepted;
  return service;
}

Session::Done take(Session& session, std::string_view bytes) {
  return session.take(std::as_bytes(std::span(bytes)));
}

/// All that is left to send.
std::string taken_output(Session& session) {
  std::string bytes;
  while (!session.output().empty()) {
    std::array<std::string_view, 64> views;
    const std::size_t count = session.output().gather(views);
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i) {
      bytes += views[i];
      size += views[i].size();
    }
    session.output().consume(size);
  }
  return bytes;
}

}  // namespace

TEST_CASE("a session answers the requests that its input completes", "[store][session]") {
  Service service = serving_all();
  Session session(service, kA);
  REQUIRE(take(session, handshake + add("/c", 5) + get("/c").substr(0, 5)));
  REQUIRE(taken_output(session) == u64(5));
  REQUIRE(take(session, get("/c").substr(5)));
  REQUIRE(taken_output(session) == blob("5"));
  REQUIRE(service.report.requests == 2);
  REQUIRE(service.report.modern_clients == 1);
}

TEST_CASE("a session names those whom it released and they are told by theirs",
          "[store][session]") {
  Service service = serving_all();
  Session waiter(service, kA);
  Session setter(service, kB);
  REQUIRE(take(waiter, handshake + wait("/k")));
  REQUIRE(take(setter, handshake + set("/k", "1")));
  REQUIRE(service.released == std::vector{kA});
  REQUIRE(waiter.output().empty());
  waiter.release();
  REQUIRE(taken_output(waiter) == ready);
}

TEST_CASE("a session that ends waits for nothing any more", "[store][session]") {
  Service service = serving_all();
  Session setter(service, kB);
  {
    Session waiter(service, kA);
    REQUIRE(take(waiter, handshake + wait("/k")));
  }
  REQUIRE(take(setter, handshake + set("/k", "1")));
  REQUIRE(service.released.empty());
}

TEST_CASE("a session keeps its input while much output is left", "[store][session]") {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  Service service = serving_all();
  Session session(service, kA);
  const std::string value(kMebibyte, 'x');
  REQUIRE(take(session, handshake + set("/big", value) + get("/big") + get("/big") + add("/c", 1)));
  REQUIRE(session.has_kept_input());
  REQUIRE(taken_output(session) == blob(value));
  REQUIRE(session.go_on());
  REQUIRE(session.has_kept_input());
  REQUIRE(taken_output(session) == blob(value));
  REQUIRE(session.go_on());
  REQUIRE(!session.has_kept_input());
  REQUIRE(taken_output(session) == u64(1));
}

TEST_CASE("a value costs no memory for each that has to be sent it", "[store][session]") {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  Service service = serving_all();
  Session setter(service, kA);
  REQUIRE(take(setter, handshake + set("/big", std::string(kMebibyte, 'x'))));
  const std::string request = handshake + get("/big");
  const std::size_t before = allocated_bytes();
  std::vector<std::unique_ptr<Session>> readers;
  for (ConnectionId id = kB; id < kB + 100; ++id) {
    readers.push_back(std::make_unique<Session>(service, id));
    REQUIRE(take(*readers.back(), request));
  }
  const std::size_t allocated = allocated_bytes() - before;
  REQUIRE(allocated < kMebibyte);
  for (const auto& reader : readers) {
    REQUIRE(reader->output().bytes() == kMebibyte + 8);
  }
}

TEST_CASE("a delete of 1.13 is answered when nothing follows it", "[store][session]") {
  Service service = serving_all();
  Session session(service, kA);
  REQUIRE(take(session, from_hex("00") + blob("/k") + blob("v") + from_hex("08") + blob("/k")));
  REQUIRE(session.undecided());
  REQUIRE(session.output().empty());
  REQUIRE(session.decide());
  REQUIRE(!session.undecided());
  REQUIRE(taken_output(session) == u64(1));
  REQUIRE(service.report.requests == 2);
  REQUIRE(service.report.legacy_clients == 1);
  REQUIRE(service.report.proved_2_1 == 0);
}

TEST_CASE("an append of 2.1 proves its client", "[store][session]") {
  Service service = serving_all();
  Session session(service, kA);
  REQUIRE(take(session, from_hex("08") + blob("/k") + blob("v") + from_hex("02") + blob("/k")));
  REQUIRE(taken_output(session) == blob("v"));
  REQUIRE(service.report.legacy_clients == 1);
  REQUIRE(service.report.proved_2_1 == 1);
}

TEST_CASE("bad input is refused with its reason, whole and byte by byte, and costs little memory",
          "[store][session]") {
  constexpr std::size_t kMostAllocated = 4096;
  const auto pieces = GENERATE(std::size_t{1}, std::string::npos);
  for (const BadInput& bad : bad_inputs()) {
    Service service = serving_all();
    Session session(service, kA);
    Session::Done done;
    std::string_view rest = bad.bytes;
    const std::size_t before = allocated_bytes();
    while (done && !rest.empty()) {
      const std::string_view piece = rest.substr(0, pieces);
      rest.remove_prefix(piece.size());
      done = take(session, piece);
    }
    const std::size_t allocated = allocated_bytes() - before;
    INFO(bad.name);
    REQUIRE(!done);
    REQUIRE(done.error() == bad.reason);
    REQUIRE(allocated < kMostAllocated);
    REQUIRE(taken_output(session) == bad.answer);
  }
}

TEST_CASE("a truncated request has no effect, no answer and costs little memory",
          "[store][session]") {
  constexpr std::size_t kMostAllocated = 4096;
  for (const auto& [opening, bytes] : whole_requests()) {
    const std::string whole = opening + bytes;
    // A pair of a MULTI_SET is stored as soon as it is in.
    const bool is_multi_set = bytes[0] == (opening.empty() ? '\x0a' : '\x0b');
    for (std::size_t length = 0; length < whole.size(); ++length) {
      INFO(to_hex(whole) << ", " << length << " bytes");
      Service service = serving_all();
      Session session(service, kA);
      const std::size_t before = allocated_bytes();
      REQUIRE(take(session, std::string_view(whole).substr(0, length)));
      REQUIRE(allocated_bytes() - before < kMostAllocated);
      REQUIRE(session.output().empty());
      REQUIRE((is_multi_set || service.keys.size() == 0));
      REQUIRE(service.report.requests == 0);
    }
  }
}

}  // namespace rankrun::store::test
