// SPDX-License-Identifier: Apache-2.0
// Reads from sysfs where the CPUs and PCI devices of this host are. `root` is where /sys is looked
// for.
#pragma once

#include "agent/numa.h"

#include <filesystem>
#include <set>
#include <string>

namespace rankrun::agent {

/// What `binding` needs to know of the CPUs in `allowed`. A kernel that knows no NUMA nodes has
/// one, 0. Details that are missing or unreadable do not separate CPUs: one package, no shared
/// threads, one cache per node.
base::Result<Topology> read_topology(const std::filesystem::path& root,
                                     NumaBinding binding,
                                     const std::set<int>& allowed);

/// The NUMA node of a PCI device; 0 where the kernel knows none.
int read_numa_node(const std::filesystem::path& root, const std::string& pci_address);

}  // namespace rankrun::agent
