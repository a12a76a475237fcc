// SPDX-License-Identifier: Apache-2.0
// The least that a store server on one thread has to do: an epoll loop that finds where requests
// end, stores nothing and answers constants. What it takes, the kernel takes.
#pragma once

#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rankrun::bench {

/// For clients that keep to what rankbench sends; a wrong one is only closed.
class FloorServer {
 public:
  static base::Result<FloorServer> open();

  std::uint16_t port() const { return port_; }

  /// Serves until the process is ended.
  [[noreturn]] void run();

 private:
  struct Connection {
    std::string input;  // of a request that is not whole yet
    std::string reply;
    std::string_view rest;  // of a large constant reply
  };

  FloorServer() = default;
  void accept_all();
  void serve(int fd);
  bool read_some(int fd, Connection& connection);
  std::size_t answer(int fd, Connection& connection, std::string_view bytes);
  void wake();
  bool write_some(int fd, Connection& connection);
  std::string_view large_reply(std::size_t values);

  base::UniqueFd listener_;
  base::UniqueFd epoll_;
  std::uint16_t port_ = 0;
  std::unordered_map<int, Connection> connections_;
  std::vector<int> waiting_;     // for one key: it is always the same
  std::size_t value_bytes_ = 0;  // of the value of the last SET
  std::string large_reply_;      // of MULTI_GET, made once
  std::string chunk_;
};

}  // namespace rankrun::bench
