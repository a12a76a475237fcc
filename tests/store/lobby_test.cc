// SPDX-License-Identifier: Apache-2.0
#include "store/lobby.h"

#include <catch2/catch.hpp>

#include <chrono>

namespace rankrun::store {
namespace {

using std::chrono::seconds;

constexpr base::TimePoint kStart;
constexpr ConnectionId kA = 1;
constexpr ConnectionId kB = 2;
constexpr ConnectionId kC = 3;
const std::string here = "192.0.2.1";
const std::string elsewhere = "192.0.2.2";

}  // namespace

TEST_CASE("who has said nothing has a limit", "[store][lobby]") {
  Lobby lobby(seconds(30));
  lobby.enter(kA, here, kStart);
  lobby.enter(kB, here, kStart + seconds(1));
  REQUIRE(lobby.next() == kStart + seconds(30));
  REQUIRE(!lobby.overdue(kStart + seconds(29)));
  REQUIRE(lobby.overdue(kStart + seconds(30)) == kA);
  lobby.leave(kA);
  REQUIRE(!lobby.overdue(kStart + seconds(30)));
  lobby.leave(kB);
  REQUIRE(!lobby.next());
}

TEST_CASE("who has said nothing is let be while its address has a legacy client",
          "[store][lobby]") {
  Lobby lobby(seconds(30));
  lobby.enter(kA, here, kStart);
  lobby.enter(kB, elsewhere, kStart);
  lobby.legacy_client_came(here);
  lobby.legacy_client_came(here);
  REQUIRE(lobby.overdue(kStart + seconds(30)) == kB);
  lobby.leave(kB);
  REQUIRE(!lobby.overdue(kStart + seconds(300)));
  lobby.legacy_client_left(here);
  REQUIRE(!lobby.overdue(kStart + seconds(400)));
  lobby.legacy_client_left(here);
  REQUIRE(!lobby.overdue(kStart + seconds(400)));
  REQUIRE(lobby.overdue(kStart + seconds(430)) == kA);
}

TEST_CASE("the first to go is the longest silent that is not let be", "[store][lobby]") {
  Lobby lobby(seconds(30));
  REQUIRE(!lobby.first_to_go(kStart));
  lobby.enter(kA, here, kStart);
  lobby.enter(kB, elsewhere, kStart);
  lobby.enter(kC, elsewhere, kStart);
  REQUIRE(lobby.first_to_go(kStart) == kA);
  lobby.legacy_client_came(here);
  REQUIRE(lobby.first_to_go(kStart) == kB);
  lobby.leave(kB);
  lobby.leave(kC);
  REQUIRE(!lobby.first_to_go(kStart));
}

TEST_CASE("very many that are let be do not hide for ever one that can go", "[store][lobby]") {
  constexpr ConnectionId kMany = 1000;
  Lobby lobby(seconds(30));
  lobby.legacy_client_came(here);
  for (ConnectionId id = 0; id < kMany; ++id) {
    lobby.enter(id, here, kStart);
  }
  lobby.enter(kMany, elsewhere, kStart);
  std::optional<ConnectionId> found;
  for (int tries = 0; tries < 20 && !found; ++tries) {
    found = lobby.first_to_go(kStart);
  }
  REQUIRE(found == kMany);
}

}  // namespace rankrun::store
