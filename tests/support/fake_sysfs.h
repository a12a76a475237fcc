// SPDX-License-Identifier: Apache-2.0
// The part of /sys that tells of CPUs and PCI devices, of a host with 2 sockets x 2 NUMA nodes x 4
// cores x 2 threads: node n has the CPUs 4n to 4n+3 and their second threads, 16 more. Every two
// cores share a last cache.
#pragma once

#include "tests/support/temp_dir.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <string>

namespace rankrun::tests {

class FakeSysfs {
 public:
  FakeSysfs() {
    for (int node = 0; node < 4; ++node) {
      write(fmt::format("node/node{}/cpulist", node),
            fmt::format("{}-{},{}-{}", 4 * node, 4 * node + 3, 4 * node + 16, 4 * node + 19));
    }
    write("node/possible", "0-3");
    for (int core = 0; core < kCores; ++core) {
      write_core(core);
    }
  }

  const std::filesystem::path& root() const { return folder_.path(); }

  /// A file below /sys/devices/system.
  void write(const std::string& name, const std::string& text) {
    folder_.file("sys/devices/system/" + name, text + "\n");
  }
  void remove(const std::string& name) {
    std::filesystem::remove_all(root() / "sys/devices/system" / name);
  }
  void write_pci_device(const std::string& address, const std::string& numa_node) {
    folder_.file("sys/bus/pci/devices/" + address + "/numa_node", numa_node + "\n");
  }

  static std::set<int> all_cpus() {
    std::set<int> cpus;
    for (int cpu = 0; cpu < kCpus; ++cpu) {
      cpus.insert(cpu);
    }
    return cpus;
  }

 private:
  static constexpr int kCores = 16;
  static constexpr int kCpus = 2 * kCores;

  // The same of both threads.
  void write_core(int core) {
    const int cache = core / 2 * 2;
    const std::string siblings = fmt::format("{},{}", core, core + kCores);
    const std::string folder = fmt::format("cpu/cpu{}/", core);
    write(folder + "topology/physical_package_id", std::to_string(core / 8));
    write(folder + "topology/thread_siblings_list", siblings);
    write_cache(folder + "cache/index1/", "9", "Instruction", siblings);
    write_cache(folder + "cache/index2/",
                "3",
                "Unified",
                fmt::format("{}-{},{}-{}", cache, cache + 1, cache + kCores, cache + kCores + 1));
    write_cache(folder + "cache/index3/", "2", "Unified", siblings);
    std::filesystem::create_directory_symlink(
        fmt::format("cpu{}", core),
        root() / fmt::format("sys/devices/system/cpu/cpu{}", core + kCores));
  }
  void write_cache(const std::string& folder,
                   const std::string& level,
                   const std::string& type,
                   const std::string& cpus) {
    write(folder + "level", level);
    write(folder + "type", type);
    write(folder + "shared_cpu_list", cpus);
  }

  TempDir folder_;
};

}  // namespace rankrun::tests
