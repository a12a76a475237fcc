// SPDX-License-Identifier: Apache-2.0
#include "agent/topology.h"

#include "tests/support/fake_sysfs.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

using tests::FakeSysfs;
using Cpus = std::set<int>;

Topology read(const FakeSysfs& sysfs,
              NumaBinding binding,
              const Cpus& allowed = FakeSysfs::all_cpus()) {
  const auto topology = read_topology(sysfs.root(), binding, allowed);
  INFO((topology ? std::string() : topology.error().message()));
  REQUIRE(topology);
  return *topology;
}

TEST_CASE("the CPUs of every NUMA node are read", "[agent][topology]") {
  const Topology topology = read(FakeSysfs(), NumaBinding::node);
  REQUIRE(topology.nodes.size() == 4);
  CHECK(topology.nodes.at(0) == Cpus{0, 1, 2, 3, 16, 17, 18, 19});
  CHECK(topology.nodes.at(3) == Cpus{12, 13, 14, 15, 28, 29, 30, 31});
}

TEST_CASE("only CPUs that the process may use are part of the topology", "[agent][topology]") {
  const Topology topology = read(FakeSysfs(), NumaBinding::exclusive, {2, 16, 31, 400});
  CHECK(topology.nodes == std::map<int, Cpus>{{0, {2, 16}}, {1, {}}, {2, {}}, {3, {31}}});
  CHECK(topology.cpus.size() == 3);
}

TEST_CASE("a CPU has the socket, core and last cache that sysfs tells", "[agent][topology]") {
  const FakeSysfs sysfs;
  CHECK(read(sysfs, NumaBinding::socket).cpus.at(7).package == 0);
  CHECK(read(sysfs, NumaBinding::socket).cpus.at(27).package == 1);
  CHECK(read(sysfs, NumaBinding::exclusive).cpus.at(27).core == 11);
  CHECK(read(sysfs, NumaBinding::core_complex).cpus.at(27).cache == 10);
}

TEST_CASE("a node without CPUs and CPUs that are offline do not matter", "[agent][topology]") {
  FakeSysfs sysfs;
  sysfs.write("node/node1/cpulist", "");
  sysfs.write("node/node2/cpulist", "8-9,24-25");
  sysfs.remove("cpu/cpu10/topology");
  const Topology topology = read(sysfs, NumaBinding::socket);
  CHECK(topology.nodes.at(1).empty());
  CHECK(topology.nodes.at(2) == Cpus{8, 9, 24, 25});
}

TEST_CASE("a kernel without NUMA has one node", "[agent][topology]") {
  FakeSysfs sysfs;
  sysfs.remove("node");
  CHECK(read(sysfs, NumaBinding::node, {1, 2}).nodes == std::map<int, Cpus>{{0, {1, 2}}});
}

TEST_CASE("details that sysfs does not tell separate no CPUs", "[agent][topology]") {
  FakeSysfs sysfs;
  const bool is_missing = GENERATE(true, false);
  for (const auto* file : {"topology/physical_package_id", "topology/thread_siblings_list"}) {
    is_missing ? sysfs.remove(std::string("cpu/cpu9/") + file)
               : sysfs.write(std::string("cpu/cpu9/") + file, "garbage");
  }
  is_missing ? sysfs.remove("cpu/cpu9/cache")
             : sysfs.write("cpu/cpu9/cache/index2/shared_cpu_list", "9-");
  CHECK(read(sysfs, NumaBinding::socket).cpus.at(9).package == 0);
  CHECK(read(sysfs, NumaBinding::exclusive).cpus.at(9).core == 9);
  CHECK(read(sysfs, NumaBinding::core_complex).cpus.at(9).cache == (is_missing ? -1 : 9));
}

TEST_CASE("a node whose CPUs cannot be read is an error", "[agent][topology]") {
  FakeSysfs sysfs;
  const bool is_missing = GENERATE(true, false);
  is_missing ? sysfs.remove("node/node2/cpulist") : sysfs.write("node/node2/cpulist", "8-x");
  const auto topology = read_topology(sysfs.root(), NumaBinding::node, {0});
  REQUIRE_FALSE(topology);
  CHECK_THAT(topology.error().message(),
             Catch::StartsWith("--numa-binding: cannot read a list of CPUs from /") &&
                 Catch::Contains("/sys/devices/system/node/node2/cpulist"));
}

TEST_CASE("the NUMA node of a PCI device is 0 where the kernel knows none", "[agent][topology]") {
  FakeSysfs sysfs;
  sysfs.write_pci_device("0000:07:00.0", "3");
  sysfs.write_pci_device("0000:08:00.0", "-1");
  sysfs.write_pci_device("0000:09:00.0", "garbage");
  CHECK(read_numa_node(sysfs.root(), "0000:07:00.0") == 3);
  CHECK(read_numa_node(sysfs.root(), "0000:08:00.0") == 0);
  CHECK(read_numa_node(sysfs.root(), "0000:09:00.0") == 0);
  CHECK(read_numa_node(sysfs.root(), "0000:0a:00.0") == 0);
}

}  // namespace
}  // namespace rankrun::agent
