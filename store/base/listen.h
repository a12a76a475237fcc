// SPDX-License-Identifier: Apache-2.0
// Listening sockets of servers.
#pragma once

#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <boost/asio/ip/tcp.hpp>

#include <string>
#include <system_error>

namespace rankrun::base {

/// Whom a listener on an IPv6 address takes.
enum class IpVersions {
  own,   ///< only IPv6
  both,  ///< IPv4, too: for the address ::
};

/// A non-blocking socket that listens at exactly this endpoint; connections are without delay.
/// Fails with the system's code, without context.
Result<UniqueFd> listen_on(const boost::asio::ip::tcp::endpoint& endpoint, IpVersions versions);

/// What to do about the failure of a server to start; may be empty.
std::string remedy_for_server(std::error_code code);

}  // namespace rankrun::base
