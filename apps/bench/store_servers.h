// SPDX-License-Identifier: Apache-2.0
// The store servers that are measured side by side, each in a process of its own.
#pragma once

#include "apps/bench/parts.h"
#include "apps/bench/program.h"
#include "store/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rankrun::bench {

/// PyTorch's two servers look up the name of every client, so they run where that takes no network.
enum class ServerKind { rankrun, libuv, poll, floor };

std::string name_of(ServerKind kind);

/// How a server's process finds names.
enum class Names {
  files,        ///< no network is asked
  mute_server,  ///< a name server is asked that never answers
};

/// A running server. Its owner ends it.
class StoreServer {
 public:
  static base::Result<StoreServer> start(const Bench& bench,
                                         ServerKind kind,
                                         Names names = Names::files);

  ServerKind kind() const { return kind_; }
  std::uint16_t port() const { return port_; }
  pid_t pid() const { return program_.pid(); }
  base::Duration cpu() const { return program_.own_cpu(); }

 private:
  StoreServer(ServerKind kind, Program program, std::uint16_t port)
      : kind_(kind), program_(std::move(program)), port_(port) {}

  ServerKind kind_;
  Program program_;
  std::uint16_t port_;
};

/// One of each of `kinds`; without PyTorch its servers are left out.
base::Result<std::vector<StoreServer>> start_servers(const Bench& bench,
                                                     const std::vector<ServerKind>& kinds);

/// `rankbench store-server`: serves until it is ended, and prints its port.
base::Result<void> run_store_server(const StoreServerOptions& options);

}  // namespace rankrun::bench
