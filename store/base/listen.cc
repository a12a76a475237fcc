// SPDX-License-Identifier: Apache-2.0
// Not by Asio: 1.26 creates sockets without close-on-exec, and another thread may fork at any time.
#include "store/base/listen.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace rankrun::base {

namespace {

bool set_option(const UniqueFd& socket, int level, int name, int value = 1) {
  return ::setsockopt(socket.get(), level, name, &value, sizeof value) == 0;
}

}  // namespace

Result<UniqueFd> listen_on(const sockaddr* address, socklen_t size, IpVersions versions) {
  const int kind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  UniqueFd listener(::socket(address->sa_family, kind, IPPROTO_TCP));
  const bool is_v6 = address->sa_family == AF_INET6;
  const int only_v6 = versions == IpVersions::own ? 1 : 0;
  if (!listener || !set_option(listener, SOL_SOCKET, SO_REUSEADDR) ||
      // Accepted sockets inherit it on Linux, which saves a call for each.
      !set_option(listener, IPPROTO_TCP, TCP_NODELAY) ||
      (is_v6 && !set_option(listener, IPPROTO_IPV6, IPV6_V6ONLY, only_v6)) ||
      ::bind(listener.get(), address, size) != 0 || ::listen(listener.get(), SOMAXCONN) != 0) {
    return errno_failure(errno, {});
  }
  return listener;
}

std::string remedy_for_server(std::error_code code) {
  if (code == std::errc::address_in_use) return "take another port, or 0 for any free one";
  if (code == std::errc::address_not_available) return "take an address of this host";
  if (code == std::errc::permission_denied) return "take a port above 1023";
  if (code == std::errc::resource_unavailable_try_again) {
    return "raise the limit of processes (ulimit -u)";
  }
  if (code == std::errc::too_many_files_open) return "raise the limit of open files (ulimit -n)";
  return {};
}

}  // namespace rankrun::base
