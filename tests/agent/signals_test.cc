// SPDX-License-Identifier: Apache-2.0
#include "agent/signals.h"

#include "tests/support/run_loop.h"

#include <catch2/catch.hpp>

#include <signal.h>

#include <set>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;

const std::set<int> stop_signals = {SIGTERM, SIGINT, SIGQUIT, SIGHUP};

asio::awaitable<void> expect_signal(SignalSource& signals, int expected) {
  ::raise(expected);
  const int received = co_await signals.next();
  CHECK(received == expected);
}

TEST_CASE("stop signals arrive as values and end nothing", "[agent][signals]") {
  asio::io_context loop(1);
  auto signals = SignalSource::open(loop.get_executor(), stop_signals);
  REQUIRE(signals);
  for (const int signal : stop_signals) {
    tests::run_loop(loop, expect_signal(**signals, signal));
    loop.restart();
  }
}

TEST_CASE("an ignored SIGHUP stays ignored", "[agent][signals]") {
  ::signal(SIGHUP, SIG_IGN);
  asio::io_context loop(1);
  auto signals = SignalSource::open(loop.get_executor(), stop_signals);
  REQUIRE(signals);
  ::raise(SIGHUP);
  tests::run_loop(loop, expect_signal(**signals, SIGTERM));
  ::signal(SIGHUP, SIG_DFL);
}

TEST_CASE("four signals end a job, the others are for its workers", "[agent][signals]") {
  for (int signal = 1; signal < NSIG; ++signal) {
    CHECK(is_stop_signal(signal) == stop_signals.contains(signal));
  }
}

}  // namespace
}  // namespace rankrun::agent
