// SPDX-License-Identifier: Apache-2.0
// Name look-up with a deadline.
#pragma once

#include "store/base/clock.h"
#include "store/base/result.h"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

namespace rankrun::base {

/// The addresses of `host` as literals, IPv4 first. Asks the system's resolver on a thread of its
/// own; since that cannot be interrupted, the thread is left to itself at `deadline`. Fails with
/// errc::timed_out, or what the resolver said.
boost::asio::awaitable<Result<std::vector<std::string>>> resolve_host(std::string host,
                                                                      TimePoint deadline);

}  // namespace rankrun::base
