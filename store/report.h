// SPDX-License-Identifier: Apache-2.0
// What a store server saw from start to stop, as plain values.
#pragma once

#include "store/errc.h"

#include <cstddef>
#include <cstdint>
#include <map>

namespace rankrun::store {

/// A client is a connection that completed at least one request; the handshake is none.
struct ServerReport {
  std::uint64_t modern_clients = 0;  ///< clients of PyTorch 2.2 and later
  std::uint64_t legacy_clients = 0;  ///< clients of PyTorch 1.13 to 2.1
  std::uint64_t proved_2_1 = 0;      ///< of those, who sent what only PyTorch 2.1 does
  /// Connections that never completed a request nor were refused (1.13 opens one each).
  std::uint64_t silent = 0;
  std::uint64_t refused = 0;  ///< connections closed for an error, the limit included
  std::map<errc, std::uint64_t> refused_by_reason;
  std::uint64_t requests = 0;
  /// Value of the start-up counter `init/`: ranks that announced themselves.
  std::uint64_t joined = 0;
  std::size_t keys_at_first_request = 0;
  std::size_t keys_at_stop = 0;

  bool operator==(const ServerReport&) const = default;
};

}  // namespace rankrun::store
