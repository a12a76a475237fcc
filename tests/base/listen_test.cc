// SPDX-License-Identifier: Apache-2.0
#include "store/base/listen.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>

namespace rankrun::base {
namespace {

using boost::asio::ip::address_v6;
using boost::asio::ip::make_address;
using boost::asio::ip::tcp;

tcp::endpoint bound_to(const UniqueFd& listener) {
  tcp::endpoint endpoint;
  auto size = static_cast<socklen_t>(endpoint.capacity());
  REQUIRE(::getsockname(listener.get(), endpoint.data(), &size) == 0);
  endpoint.resize(size);
  return endpoint;
}

bool can_connect(const char* address, std::uint16_t port) {
  boost::asio::io_context loop(1);
  tcp::socket socket(loop);
  boost::system::error_code error;
  socket.connect({make_address(address), port}, error);
  return !error;
}

Result<UniqueFd> listen_at(const tcp::endpoint& endpoint, IpVersions versions) {
  return listen_on(endpoint.data(), static_cast<socklen_t>(endpoint.size()), versions);
}

TEST_CASE("a listener is closed on exec and does not block", "[base][listen]") {
  const auto listener = listen_at({make_address("127.0.0.1"), 0}, IpVersions::own);
  REQUIRE(listener);
  CHECK((::fcntl(listener->get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((::fcntl(listener->get(), F_GETFL) & O_NONBLOCK) != 0);
}

TEST_CASE("a listener on every address takes the IP versions it is told", "[base][listen]") {
  const auto versions = GENERATE(IpVersions::own, IpVersions::both);
  const auto listener = listen_at({address_v6::any(), 0}, versions);
  REQUIRE(listener);
  const std::uint16_t port = bound_to(*listener).port();
  CHECK(can_connect("::1", port));
  CHECK(can_connect("127.0.0.1", port) == (versions == IpVersions::both));
}

TEST_CASE("a port that is taken is said so", "[base][listen]") {
  const auto first = listen_at({make_address("127.0.0.1"), 0}, IpVersions::own);
  REQUIRE(first);
  const auto second = listen_at(bound_to(*first), IpVersions::own);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == std::errc::address_in_use);
  CHECK(remedy_for_server(second.error().code) == "take another port, or 0 for any free one");
}

}  // namespace
}  // namespace rankrun::base
