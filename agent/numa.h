// SPDX-License-Identifier: Apache-2.0
// Pure: which CPUs each worker gets under --numa-binding.
#pragma once

#include "agent/config.h"
#include "agent/process_spec.h"
#include "store/base/result.h"

#include <map>
#include <set>
#include <vector>

namespace rankrun::agent {

/// Where a CPU is. Only what the asked mode looks at is filled.
struct CpuPlace {
  int package = 0;  ///< socket
  int core = 0;     ///< first CPU of its physical core
  int cache = 0;    ///< first CPU of those that share its last cache

  bool operator==(const CpuPlace&) const = default;
};

/// The CPUs that this process may use. Nodes without such a CPU have an empty set.
struct Topology {
  std::map<int, std::set<int>> nodes;  ///< CPUs of each NUMA node
  std::map<int, CpuPlace> cpus;

  bool operator==(const Topology&) const = default;
};

/// The NUMA node of each worker of a host without GPUs: spread evenly, in order.
base::Result<std::vector<int>> spread_over_nodes(const Topology& topology, int workers);

/// The places of the first `workers` devices; `device_nodes` has the NUMA node of each device that
/// is to share its node's CPUs, used by a worker or not.
base::Result<std::vector<Placement>> bind_workers(const Topology& topology,
                                                  NumaBinding binding,
                                                  const std::vector<int>& device_nodes,
                                                  int workers);

}  // namespace rankrun::agent
