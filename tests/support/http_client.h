// SPDX-License-Identifier: Apache-2.0
// One connection to an HTTP server, byte by byte as a test wants it. No read waits for ever.
#pragma once

#include "store/base/unique_fd.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rankrun::tests {

class HttpClient {
 public:
  HttpClient(const std::string& address, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
      throw std::runtime_error("no address: " + address);
    }
    socket_ = base::UniqueFd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const int connected = ::connect(socket_.get(), found->ai_addr, found->ai_addrlen);
    ::freeaddrinfo(found);
    if (connected != 0) throw std::runtime_error("cannot connect to " + address);
  }

  void send(const std::string& text) {
    if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) {
      throw std::runtime_error("cannot send");
    }
  }

  /// The next response, with a body as long as it says; less when the connection ends before.
  std::string response() {
    const auto header_end = [this] { return received_.find("\r\n\r\n"); };
    while (header_end() == std::string::npos) {
      if (!receive()) return take(received_.size());
    }
    constexpr std::string_view kLength = "Content-Length: ";
    const auto length = received_.find(kLength);
    const std::size_t size =
        header_end() + 4 +
        (length < header_end() ? std::stoul(received_.substr(length + kLength.size())) : 0);
    while (received_.size() < size && receive()) {
    }
    return take(std::min(size, received_.size()));
  }

  /// All that comes until the server closes; it does not return before.
  std::string rest() {
    while (receive()) {
    }
    return take(received_.size());
  }

 private:
  // False at the end of the connection, in order or not.
  bool receive() {
    std::array<char, 4096> buffer{};
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EAGAIN) throw std::runtime_error("the server neither sends nor closes");
    if (got <= 0) return false;
    received_.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
  }
  std::string take(std::size_t size) {
    std::string text = received_.substr(0, size);
    received_.erase(0, size);
    return text;
  }

  base::UniqueFd socket_;
  std::string received_;
};

}  // namespace rankrun::tests
