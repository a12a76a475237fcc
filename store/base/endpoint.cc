// SPDX-License-Identifier: Apache-2.0
#include "store/base/endpoint.h"

#include "store/base/text.h"

#include <algorithm>
#include <charconv>

namespace rankrun::base {
namespace {

constexpr std::string_view kForms = "write host:port, 192.0.2.1:port or [2001:db8::1]:port";

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == ':' || c == '%';
}

tl::unexpected<Error> refuse(std::string_view text, std::string_view why) {
  return failure(errc::invalid_value,
                 "endpoint '" + std::string(text) + "' " + std::string(why),
                 std::string(kForms));
}

}  // namespace

Result<std::uint16_t> parse_port(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.size() > 5 || error != std::errc() || end != text.data() + text.size() ||
      value > 65535) {
    return failure(errc::invalid_value,
                   "port '" + std::string(text) + "'",
                   "a port is a number from 0 to 65535");
  }
  return static_cast<std::uint16_t>(value);
}

Result<Endpoint> parse_endpoint(std::string_view text, std::optional<std::uint16_t> default_port) {
  const std::string_view input = trimmed(text);
  std::string_view host = input;
  std::string_view port;
  bool has_port = false;
  if (input.starts_with('[')) {
    const auto close = input.find(']');
    if (close == std::string_view::npos) return refuse(input, "has no closing bracket");
    host = input.substr(1, close - 1);
    const std::string_view rest = input.substr(close + 1);
    if (!rest.empty() && rest[0] != ':') return refuse(input, "has text after its bracket");
    has_port = !rest.empty();
    port = rest.empty() ? rest : rest.substr(1);
  } else if (const auto colon = input.rfind(':'); colon != std::string_view::npos) {
    if (input.find(':') != colon) return refuse(input, "is an IPv6 address without brackets");
    host = input.substr(0, colon);
    port = input.substr(colon + 1);
    has_port = true;
  }
  if (host.empty()) return refuse(input, "has no host");
  if (!std::all_of(host.begin(), host.end(), is_host_character)) {
    return refuse(input, "has a host with characters that no host name has");
  }
  if (!has_port) {
    if (!default_port) return refuse(input, "has no port");
    return Endpoint{std::string(host), *default_port};
  }
  const auto number = parse_port(port);
  if (!number) return refuse(input, "has a port that is not a number from 0 to 65535");
  return Endpoint{std::string(host), *number};
}

std::string to_string(const Endpoint& endpoint) {
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + endpoint.host + "]" : endpoint.host;
  return host + ":" + std::to_string(endpoint.port);
}

}  // namespace rankrun::base
