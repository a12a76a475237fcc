// SPDX-License-Identifier: Apache-2.0
#include "agent/numa.h"

#include "store/base/assert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rankrun::agent {

using base::failure;
using base::Result;

namespace {

using CpuSet = std::set<int>;

const CpuSet& cpus_of(const Topology& topology, int node) {
  static const CpuSet none;
  const auto found = topology.nodes.find(node);
  return found == topology.nodes.end() ? none : found->second;
}

// The CPUs that have the same `place`; groups in order of their first CPU.
std::vector<CpuSet> grouped(const Topology& topology, const CpuSet& cpus, int CpuPlace::*place) {
  std::map<int, CpuSet> by_place;
  for (const int cpu : cpus) {
    by_place[topology.cpus.at(cpu).*place].insert(cpu);
  }
  std::vector<CpuSet> groups;
  groups.reserve(by_place.size());
  for (auto& [key, group] : by_place) {
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

// All nodes whose first CPU is on the same package as that of this node.
CpuSet whole_socket(const Topology& topology, const CpuSet& node) {
  const int package = topology.cpus.at(*node.begin()).package;
  CpuSet socket;
  for (const auto& [index, cpus] : topology.nodes) {
    if (!cpus.empty() && topology.cpus.at(*cpus.begin()).package == package) {
      socket.insert(cpus.begin(), cpus.end());
    }
  }
  return socket;
}

// A device among those of its node.
struct Share {
  std::size_t index;
  std::size_t count;
};

Share share_of(const std::vector<int>& device_nodes, std::size_t device) {
  const auto position = device_nodes.begin() + static_cast<std::ptrdiff_t>(device);
  const auto before = std::count(device_nodes.begin(), position, *position);
  const auto all = std::count(device_nodes.begin(), device_nodes.end(), *position);
  return {static_cast<std::size_t>(before), static_cast<std::size_t>(all)};
}

// A part of the node's physical cores; the first shares get one more where it does not come out
// even. Empty when there are too few.
CpuSet own_cores(const Topology& topology, const CpuSet& node, Share share) {
  const auto cores = grouped(topology, node, &CpuPlace::core);
  if (cores.size() < share.count) return {};
  const std::size_t least = cores.size() / share.count;
  const std::size_t extra = cores.size() % share.count;
  const std::size_t begin = share.index * least + std::min(share.index, extra);
  const std::size_t end = begin + least + (share.index < extra ? 1 : 0);
  CpuSet cpus;
  for (std::size_t core = begin; core < end; ++core) {
    cpus.insert(cores[core].begin(), cores[core].end());
  }
  return cpus;
}

// One of the node's groups of cores behind the same last cache, the largest first.
CpuSet core_complex(const Topology& topology, const CpuSet& node, Share share) {
  auto groups = grouped(topology, node, &CpuPlace::cache);
  std::stable_sort(groups.begin(), groups.end(), [](const CpuSet& a, const CpuSet& b) {
    return a.size() > b.size();
  });
  return groups[share.index % groups.size()];
}

CpuSet chosen_cpus(const Topology& topology, NumaBinding binding, const CpuSet& node, Share share) {
  switch (binding) {
    case NumaBinding::node:
      return node;
    case NumaBinding::socket:
      return whole_socket(topology, node);
    case NumaBinding::exclusive:
      return own_cores(topology, node, share);
    case NumaBinding::core_complex:
      return core_complex(topology, node, share);
  }
  return {};
}

std::set<int> nodes_of(const Topology& topology, const CpuSet& cpus) {
  std::set<int> nodes;
  for (const auto& [node, its_cpus] : topology.nodes) {
    const bool shares_one = std::any_of(
        its_cpus.begin(), its_cpus.end(), [&cpus](int cpu) { return cpus.contains(cpu); });
    if (shares_one) nodes.insert(node);
  }
  return nodes;
}

}  // namespace

Result<std::vector<int>> spread_over_nodes(const Topology& topology, int workers) {
  std::vector<int> usable;
  for (const auto& [node, cpus] : topology.nodes) {
    if (!cpus.empty()) usable.push_back(node);
  }
  if (usable.empty()) {
    return failure({}, "--numa-binding: no NUMA node has a CPU that rankrun may use");
  }
  std::vector<int> nodes;
  for (int worker = 0; worker < workers; ++worker) {
    const auto index =
        static_cast<std::size_t>(worker) * usable.size() / static_cast<std::size_t>(workers);
    nodes.push_back(usable[index]);
  }
  return nodes;
}

Result<std::vector<Placement>> bind_workers(const Topology& topology,
                                            NumaBinding binding,
                                            const std::vector<int>& device_nodes,
                                            int workers) {
  RANKRUN_ASSERT(static_cast<std::size_t>(workers) <= device_nodes.size());
  std::vector<Placement> placements;
  for (std::size_t worker = 0; worker < static_cast<std::size_t>(workers); ++worker) {
    const int node = device_nodes[worker];
    const CpuSet& cpus = cpus_of(topology, node);
    if (cpus.empty()) {
      return failure({},
                     fmt::format("--numa-binding: NUMA node {}, for local rank {}, has no CPU that "
                                 "rankrun may use",
                                 node,
                                 worker),
                     "see taskset -p and cpuset limits, or leave the option out");
    }
    const Share share = share_of(device_nodes, worker);
    CpuSet chosen = chosen_cpus(topology, binding, cpus, share);
    if (chosen.empty()) {
      return failure({},
                     fmt::format("--numa-binding=exclusive: NUMA node {} has fewer usable cores "
                                 "than the {} GPUs or workers on it",
                                 node,
                                 share.count),
                     "use node, socket or core-complex");
    }
    auto nodes = nodes_of(topology, chosen);
    placements.push_back({std::move(chosen), std::move(nodes)});
  }
  return placements;
}

}  // namespace rankrun::agent
