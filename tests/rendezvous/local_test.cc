// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/local.h"

#include "store/base/async.h"
#include "tests/support/run_loop.h"
#include "tests/support/silent_log.h"

#include <boost/asio/ip/tcp.hpp>
#include <catch2/catch.hpp>

#include <chrono>

namespace rankrun::rendezvous {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

base::TimePoint soon() {
  return base::Clock::now() + std::chrono::seconds(20);
}

LocalOptions options_for(int workers, int max_restarts) {
  LocalOptions options;
  options.member.local_world_size = workers;
  options.max_restarts = max_restarts;
  return options;
}

bool can_connect(const std::string& address, std::uint16_t port) {
  asio::io_context loop;
  tcp::socket socket(loop);
  boost::system::error_code error;
  socket.connect({asio::ip::make_address(address), port}, error);
  return !error;
}

asio::awaitable<void> check_restarts() {
  LocalRendezvous local(options_for(2, 1), tests::silent_log());
  const auto first = co_await local.next_view(soon());
  REQUIRE(first);
  CHECK(first->id == ViewId{1});
  CHECK(first->restart_count == 0);
  CHECK(first->master_addr == "127.0.0.1");
  CHECK(first->ranks.world_size == 2);
  CHECK(can_connect("127.0.0.1", first->master_port));

  const auto verdict = co_await local.report(first->id, Outcome::failed, soon());
  CHECK(*verdict == Verdict::restart);
  CHECK_FALSE(can_connect("127.0.0.1", first->master_port));

  const auto second = co_await local.next_view(soon());
  REQUIRE(second);
  CHECK(second->id == ViewId{2});
  CHECK(second->restart_count == 1);
  CHECK(can_connect("127.0.0.1", second->master_port));
  const auto last = co_await local.report(second->id, Outcome::failed, soon());
  CHECK(*last == Verdict::give_up);
}

asio::awaitable<void> check_success() {
  LocalRendezvous local(options_for(1, 3), tests::silent_log());
  const auto view = co_await local.next_view(soon());
  REQUIRE(view);
  const auto verdict = co_await local.report(view->id, Outcome::succeeded, soon());
  CHECK(*verdict == Verdict::finish);
  const auto left = co_await local.leave(soon());
  CHECK(left);
  CHECK_FALSE(can_connect("127.0.0.1", view->master_port));
}

asio::awaitable<void> check_failure(LocalOptions options, std::error_condition expected) {
  LocalRendezvous local(std::move(options), tests::silent_log());
  const auto view = co_await local.next_view(soon());
  REQUIRE_FALSE(view);
  CHECK(view.error().code == expected);
  CHECK_THAT(view.error().message(), Catch::Contains("--master-"));
}

asio::awaitable<void> check_name(std::string& exported, std::uint16_t& port) {
  LocalOptions options = options_for(1, 0);
  options.master_addr = "localhost";
  LocalRendezvous local(std::move(options), tests::silent_log());
  const auto view = co_await local.next_view(soon());
  REQUIRE(view);
  exported = view->master_addr;
  port = view->master_port;
  CHECK((can_connect("127.0.0.1", port) || can_connect("::1", port)));
}

TEST_CASE("a failure takes a restart and a fresh store until the budget is used up",
          "[rendezvous][local]") {
  asio::io_context loop(1);
  tests::run_loop(loop, check_restarts());
}

TEST_CASE("success finishes the job and leaving closes the store", "[rendezvous][local]") {
  asio::io_context loop(1);
  tests::run_loop(loop, check_success());
}

TEST_CASE("a port in use is reported with what to do instead", "[rendezvous][local]") {
  asio::io_context loop(1);
  const tcp::acceptor other(loop, {asio::ip::address_v4::loopback(), 0});
  LocalOptions options = options_for(1, 0);
  options.master_port = other.local_endpoint().port();
  tests::run_loop(loop, check_failure(options, std::errc::address_in_use));
}

TEST_CASE("an address of another host is reported with what to do instead", "[rendezvous][local]") {
  asio::io_context loop(1);
  LocalOptions options = options_for(1, 0);
  options.master_addr = "192.0.2.1";  // TEST-NET-1: no host has it
  tests::run_loop(loop, check_failure(options, std::errc::address_not_available));
}

TEST_CASE("of a name the address is bound and the text is exported", "[rendezvous][local]") {
  asio::io_context loop(1);
  std::string exported;
  std::uint16_t port = 0;
  tests::run_loop(loop, check_name(exported, port));
  CHECK(exported == "localhost");
  CHECK(port != 0);
}

}  // namespace
}  // namespace rankrun::rendezvous
