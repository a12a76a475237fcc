// SPDX-License-Identifier: Apache-2.0
#include "store/base/resolve.h"

#include "tests/support/run_loop.h"

#include <catch2/catch.hpp>

#include <chrono>

namespace rankrun::base {
namespace {

namespace asio = boost::asio;
using Addresses = Result<std::vector<std::string>>;

asio::awaitable<void> resolve(std::string host, TimePoint deadline, Addresses& found) {
  found = co_await resolve_host(std::move(host), deadline);
}

Addresses resolved(const std::string& host, TimePoint deadline) {
  asio::io_context loop(1);
  Addresses found;
  tests::run_loop(loop, resolve(host, deadline, found));
  return found;
}

TEST_CASE("a name gives its addresses, IPv4 first", "[base][resolve]") {
  const auto found = resolved("localhost", Clock::now() + std::chrono::seconds(20));
  REQUIRE(found);
  REQUIRE_FALSE(found->empty());
  CHECK((found->front() == "127.0.0.1" || found->front() == "::1"));
}

TEST_CASE("a look-up ends at its deadline", "[base][resolve]") {
  const auto found = resolved("localhost", Clock::now() - std::chrono::seconds(1));
  REQUIRE_FALSE(found);
  CHECK(found.error().code == errc::timed_out);
  CHECK_THAT(found.error().message(), Catch::Contains("'localhost'"));
}

TEST_CASE("a name that cannot be one is an error of the resolver", "[base][resolve]") {
  const auto found = resolved("", Clock::now() + std::chrono::seconds(20));
  REQUIRE_FALSE(found);
  CHECK(found.error().code != errc::timed_out);
}

}  // namespace
}  // namespace rankrun::base
