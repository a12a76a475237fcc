// SPDX-License-Identifier: Apache-2.0
// The loads that store servers are put under; each gives its figures for one server and one round.
#pragma once

#include "apps/bench/statistics.h"
#include "apps/bench/store_servers.h"
#include "store/base/result.h"

#include <cstddef>
#include <string>

namespace rankrun::bench {

/// What a load has shown; each uses some.
struct LoadFigures {
  double wall_us = 0;
  double cpu_us = 0;  ///< of the server's process
  double p99_us = 0;
  double kib_each = 0;  ///< private memory of the server's process, for each connection
  double lost = 0;      ///< connections that were closed or not answered
};

/// Each of `clients` has `depth` GETs of a small value on the way at any time. Times are of one.
struct LoopLoad {
  std::size_t clients = 16;
  std::size_t depth = 1;
  base::Duration duration{};
};
base::Result<LoadFigures> run_loop(const StoreServer& server, const LoopLoad& load);

/// All connect at once, shake hands and ADD. The wall time is until the last is through, the CPU
/// time that for one.
base::Result<LoadFigures> run_storm(const StoreServer& server, std::size_t clients);

/// One SET wakes all. The wall time is until the last is told, the CPU time that for one.
base::Result<LoadFigures> run_herd(const StoreServer& server, std::size_t waiters);

/// As gloo starts: each rank stores its address, waits for those of all and fetches all. Times are
/// of the whole.
base::Result<LoadFigures> run_gloo(const StoreServer& server, std::size_t ranks);

/// One MULTI_SET and its effect. Times are of the whole.
base::Result<LoadFigures> run_multi_set(const StoreServer& server, std::size_t pairs);

/// GETs at a fixed rate from 16 clients: how late their replies are, counted from when each was to
/// be sent.
struct OfferedLoad {
  double per_second = 0;
  base::Duration duration{};
};
base::Result<Samples> run_offered(const StoreServer& server, const OfferedLoad& load);

}  // namespace rankrun::bench
