// SPDX-License-Identifier: Apache-2.0
// host:port as people type it. Pure: no name is looked up here.
#pragma once

#include "store/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rankrun::base {

/// A host (name, IPv4 or IPv6 literal, without brackets) and a TCP port in host byte order.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  bool operator==(const Endpoint&) const = default;
};

/// Parses `host`, `host:port`, `[v6]`, `[v6]:port`; white space around it is dropped. Without a
/// port `default_port` is taken; when there is none either, that is an error. An IPv6 address with
/// a port needs its brackets. Fails with errc::invalid_value.
Result<Endpoint> parse_endpoint(std::string_view text, std::optional<std::uint16_t> default_port);

/// Parses 1 to 5 decimal digits up to 65535. Fails with errc::invalid_value.
Result<std::uint16_t> parse_port(std::string_view text);

/// `host:port`, with brackets around an IPv6 host.
std::string to_string(const Endpoint& endpoint);

}  // namespace rankrun::base
