// SPDX-License-Identifier: Apache-2.0
// A blocking client for tests: raw bytes over a loopback socket. Every wait has a limit and throws
// when it is reached.
#pragma once

#include "store/base/unique_fd.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rankrun::store::test {

class Client {
 public:
  /// A socket that is not connected yet.
  Client();
  explicit Client(std::uint16_t port, const char* address = "127.0.0.1");

  /// Connects a socket of the first kind.
  void connect(std::uint16_t port, const char* address = "127.0.0.1");

  void send(std::string_view bytes);
  /// Sends what the kernel takes at once; returns how much that was.
  std::size_t send_some(std::string_view bytes);
  /// Exactly `count` bytes, or fewer when the server closes before.
  std::string receive(std::size_t count);
  /// Waits until the server has closed; returns the bytes that came before it did.
  std::string receive_until_closed();
  /// Whether neither bytes nor a close have arrived by now. Never waits.
  bool is_quiet();
  void close() { fd_.reset(); }

  /// Handshake and one PING: returns when the server has answered.
  void greet();
  /// One PING of a modern client.
  void round_trip();

 private:
  void await(short events);
  /// Empty when the server has closed.
  std::string receive_some(std::size_t most);

  base::UniqueFd fd_;
};

}  // namespace rankrun::store::test
