// SPDX-License-Identifier: Apache-2.0
#include "agent/topology.h"

#include "agent/kernel_files.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace rankrun::agent {

namespace fs = std::filesystem;
using base::failure;
using base::Result;

namespace {

// The number in "node12", "cpu3", "index0".
std::optional<int> number_after(std::string_view prefix, const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(prefix)) return std::nullopt;
  return parse_number(std::string_view(name).substr(prefix.size()));
}

std::optional<int> read_number(const fs::path& path) {
  return parse_number(read_kernel_file(path).value_or(""));
}

std::optional<int> read_first_cpu(const fs::path& path) {
  const auto cpus = parse_cpu_list(read_kernel_file(path).value_or(""));
  return cpus && !cpus->empty() ? std::optional(*cpus->begin()) : std::nullopt;
}

Result<std::set<int>> read_node(const fs::path& folder, const std::set<int>& allowed) {
  const fs::path file = folder / "cpulist";
  const auto text = read_kernel_file(file);
  const auto cpus = text ? parse_cpu_list(*text) : std::nullopt;
  if (!cpus) {
    return failure({},
                   "--numa-binding: cannot read a list of CPUs from " + file.string(),
                   "leave the option out");
  }
  std::set<int> usable;
  std::set_intersection(cpus->begin(),
                        cpus->end(),
                        allowed.begin(),
                        allowed.end(),
                        std::inserter(usable, usable.end()));
  return usable;
}

// The first CPU of those behind the last cache that holds data, or -1.
int read_cache(const fs::path& cpu_folder) {
  int last_level = -1;
  int first_cpu = -1;
  std::error_code ignored;  // no caches known
  auto entry = fs::directory_iterator(cpu_folder / "cache", ignored);
  for (; entry != fs::directory_iterator(); entry.increment(ignored)) {
    const fs::path& cache = entry->path();
    if (!number_after("index", cache)) continue;
    const auto level = read_number(cache / "level");
    const bool holds_data = read_kernel_file(cache / "type") != "Instruction";
    const auto cpu = read_first_cpu(cache / "shared_cpu_list");
    if (level && cpu && holds_data && *level > last_level) {
      last_level = *level;
      first_cpu = *cpu;
    }
  }
  return first_cpu;
}

CpuPlace read_cpu(const fs::path& root, NumaBinding binding, int cpu) {
  const fs::path folder = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu));
  CpuPlace place;
  switch (binding) {
    case NumaBinding::node:
      break;
    case NumaBinding::socket:
      place.package = read_number(folder / "topology/physical_package_id").value_or(0);
      break;
    case NumaBinding::exclusive:
      place.core = read_first_cpu(folder / "topology/thread_siblings_list").value_or(cpu);
      break;
    case NumaBinding::core_complex:
      place.cache = read_cache(folder);
      break;
  }
  return place;
}

Result<std::map<int, std::set<int>>> read_nodes(const fs::path& root,
                                                const std::set<int>& allowed) {
  std::map<int, std::set<int>> nodes;
  std::error_code ignored;  // no NUMA nodes known
  auto entry = fs::directory_iterator(root / "sys/devices/system/node", ignored);
  for (; entry != fs::directory_iterator(); entry.increment(ignored)) {
    const auto node = number_after("node", entry->path());
    if (!node) continue;
    auto cpus = read_node(entry->path(), allowed);
    if (!cpus) return failure(std::move(cpus.error()));
    nodes.emplace(*node, std::move(*cpus));
  }
  if (nodes.empty()) nodes.emplace(0, allowed);
  return nodes;
}

}  // namespace

Result<Topology> read_topology(const fs::path& root,
                               NumaBinding binding,
                               const std::set<int>& allowed) {
  auto nodes = read_nodes(root, allowed);
  if (!nodes) return failure(std::move(nodes.error()));
  Topology topology{.nodes = std::move(*nodes), .cpus = {}};
  for (const auto& [node, cpus] : topology.nodes) {
    for (const int cpu : cpus) {
      topology.cpus.emplace(cpu, read_cpu(root, binding, cpu));
    }
  }
  return topology;
}

int read_numa_node(const fs::path& root, const std::string& pci_address) {
  const auto node = read_number(root / "sys/bus/pci/devices" / pci_address / "numa_node");
  return std::max(node.value_or(0), 0);
}

}  // namespace rankrun::agent
