// SPDX-License-Identifier: Apache-2.0
#include "agent/placement.h"

#include "agent/numa.h"
#include "agent/nvml.h"
#include "agent/topology.h"
#include "store/base/assert.h"

#include <fmt/format.h>

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <optional>
#include <utility>

namespace rankrun::agent {

using base::failure;
using base::Result;

namespace {

constexpr std::size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;

// The kernel's form of a set: bit n of an array of words.
std::vector<unsigned long> bits(const std::set<int>& numbers) {
  std::vector<unsigned long> words;
  for (const int number : numbers) {
    const auto bit = static_cast<std::size_t>(number);
    words.resize(std::max(words.size(), bit / kWordBits + 1));
    words[bit / kWordBits] |= 1UL << (bit % kWordBits);
  }
  return words;
}

Result<std::vector<int>> device_nodes(const VisibleDevices& visible,
                                      const PlacementHost& host,
                                      int workers) {
  if (visible.devices.size() < static_cast<std::size_t>(workers)) {
    return failure({},
                   fmt::format("--numa-binding: {} workers for {} GPUs ({})",
                               workers,
                               visible.devices.size(),
                               visible.how),
                   "start one worker per GPU, or leave the option out");
  }
  std::vector<int> nodes;
  for (const Device& device : visible.devices) {
    const std::string& address = host.gpus.gpus[device.gpu].pci_address;
    if (address.empty()) {
      return failure({},
                     fmt::format("--numa-binding: the PCI address of GPU {} is not known ({})",
                                 device.gpu,
                                 visible.how),
                     "leave the option out");
    }
    nodes.push_back(read_numa_node(host.root, address));
  }
  return nodes;
}

}  // namespace

std::set<int> own_cpus() {
  std::vector<unsigned long> words(16);
  long bytes = -1;
  do {  // EINVAL: the kernel has room for more CPUs
    words.resize(2 * words.size());
    bytes = ::syscall(SYS_sched_getaffinity, 0, words.size() * sizeof(unsigned long), words.data());
  } while (bytes < 0 && errno == EINVAL);
  std::set<int> cpus;
  for (std::size_t bit = 0; bytes > 0 && bit < static_cast<std::size_t>(bytes) * CHAR_BIT; ++bit) {
    const bool is_set = ((words[bit / kWordBits] >> (bit % kWordBits)) & 1) != 0;
    if (is_set) cpus.insert(cpus.end(), static_cast<int>(bit));
  }
  if (cpus.empty()) cpus.insert(0);  // a sandbox without the call
  return cpus;
}

Result<std::vector<Placement>> place_workers(const LaunchConfig& config) {
  if (!config.numa_binding) return std::vector<Placement>();
  return place_workers(config, {.allowed = own_cpus(), .gpus = read_gpus()});
}

Result<std::vector<Placement>> place_workers(const LaunchConfig& config,
                                             const PlacementHost& host) {
  RANKRUN_ASSERT(config.numa_binding);
  const auto topology = read_topology(host.root, *config.numa_binding, host.allowed);
  if (!topology) return failure(topology.error());
  const int workers = config.local_world_size;
  const auto visible =
      visible_devices(host.gpus, value_of(config.environment, "CUDA_VISIBLE_DEVICES"));
  const auto nodes = visible.devices.empty() ? spread_over_nodes(*topology, workers)
                                             : device_nodes(visible, host, workers);
  if (!nodes) return failure(nodes.error());
  return bind_workers(*topology, *config.numa_binding, *nodes, workers);
}

KernelPlacement::KernelPlacement(const Placement& placement)
    : cpus_(bits(placement.cpus)),
      nodes_(bits(placement.nodes)),
      memory_policy_(placement.nodes.size() > 1 ? MPOL_PREFERRED_MANY : MPOL_PREFERRED) {}

int KernelPlacement::apply() const noexcept {
  const auto bytes = cpus_.size() * sizeof(unsigned long);
  if (::syscall(SYS_sched_setaffinity, 0, bytes, cpus_.data()) != 0) return errno;
  if (!nodes_.empty()) {
    const auto limit = nodes_.size() * kWordBits + 1;  // the kernel takes one off
    ::syscall(SYS_set_mempolicy, memory_policy_, nodes_.data(), limit);
  }
  return 0;
}

}  // namespace rankrun::agent
