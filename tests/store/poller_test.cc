// SPDX-License-Identifier: Apache-2.0
#include "store/poller.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <thread>

namespace rankrun::store {
namespace {

constexpr std::uint64_t kTag = 7;

struct Pair {
  base::UniqueFd ours;
  base::UniqueFd theirs;

  Pair() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    ours = base::UniqueFd(ends[0]);
    theirs = base::UniqueFd(ends[1]);
  }
};

/// A time that has come.
const std::optional<base::TimePoint> at_once = base::TimePoint();

}  // namespace

TEST_CASE("a poller tells what is ready of what is of interest", "[store][poller]") {
  auto poller = Poller::open();
  const Pair pair;
  REQUIRE(poller->add(pair.ours.get(), kTag, Interest::reading));
  REQUIRE(poller->wait(at_once).empty());
  REQUIRE(::send(pair.theirs.get(), "x", 1, 0) == 1);
  for (int i = 0; i < 2; ++i) {  // told again until it is read
    const auto ready = poller->wait({});
    REQUIRE(ready.size() == 1);
    REQUIRE(ready[0].data.u64 == kTag);
  }
  poller->change(pair.ours.get(), kTag, Interest::nothing);
  REQUIRE(poller->wait(at_once).empty());
  poller->change(pair.ours.get(), kTag, Interest::writing);
  REQUIRE(poller->wait({}).size() == 1);
}

TEST_CASE("a poller waits no less than it is told", "[store][poller]") {
  auto poller = Poller::open();
  const base::TimePoint until = base::Clock::now() + std::chrono::microseconds(1500);
  REQUIRE(poller->wait(until).empty());
  REQUIRE(base::Clock::now() >= until);
}

TEST_CASE("another thread can end the wait of a poller", "[store][poller]") {
  auto poller = Poller::open();
  const std::jthread other([&] { poller->interrupt(); });
  while (!poller->is_interrupted()) {
    poller->wait({});
  }
  REQUIRE(poller->wait({}).size() == 1);
}

}  // namespace rankrun::store
