// SPDX-License-Identifier: Apache-2.0
// Listening sockets of servers.
#pragma once

#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <sys/socket.h>

#include <string>
#include <system_error>

namespace rankrun::base {

/// Whom a listener on an IPv6 address takes.
enum class IpVersions {
  own,   ///< only IPv6
  both,  ///< IPv4, too: for the address ::
};

/// A non-blocking socket that listens for TCP at exactly this address of either family, `size`
/// bytes long; connections are without delay. Fails with the system's code, without context.
Result<UniqueFd> listen_on(const sockaddr* address, socklen_t size, IpVersions versions);

/// What to do about the failure of a server to start; may be empty.
std::string remedy_for_server(std::error_code code);

}  // namespace rankrun::base
