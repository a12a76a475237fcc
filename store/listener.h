// SPDX-License-Identifier: Apache-2.0
// A listening TCP socket. By system calls: one call each to accept a connection that blocks nobody
// and reaches no child process, and no name is ever looked up.
#pragma once

#include "store/base/endpoint.h"
#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <cstdint>
#include <optional>

namespace rankrun::store {

struct Accepted {
  base::UniqueFd socket;
  base::Endpoint peer;  // address literal and port
};

class Listener {
 public:
  /// Binds exactly this address literal and listens, with the deepest queue that the kernel allows.
  /// The error has no context; errc::not_an_address for a name.
  static base::Result<Listener> open(const base::Endpoint& endpoint);

  int fd() const { return socket_.get(); }
  std::uint16_t port() const { return port_; }
  bool is_on_loopback() const { return is_on_loopback_; }

  /// Who is still in the queue is reset.
  void close() { socket_.reset(); }

  /// Nothing when none is there. An error is one that the next try would meet again.
  base::Result<std::optional<Accepted>> accept();

 private:
  Listener() = default;

  base::UniqueFd socket_;
  std::uint16_t port_ = 0;
  bool is_on_loopback_ = false;
};

}  // namespace rankrun::store
