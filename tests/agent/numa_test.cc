// SPDX-License-Identifier: Apache-2.0
#include "agent/numa.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

using Cpus = std::set<int>;
using CpusOfWorkers = std::vector<Cpus>;

// 2 sockets x 2 nodes x 4 cores x 2 threads, as in tests/support/fake_sysfs.h.
Topology two_sockets() {
  Topology topology;
  for (int cpu = 0; cpu < 32; ++cpu) {
    const int core = cpu % 16;
    topology.nodes[core / 4].insert(cpu);
    topology.cpus[cpu] = {.package = core / 8, .core = core, .cache = core / 2 * 2};
  }
  return topology;
}

void forbid(Topology& topology, Cpus cpus) {
  for (const int cpu : cpus) {
    topology.cpus.erase(cpu);
    for (auto& [node, its_cpus] : topology.nodes) {
      its_cpus.erase(cpu);
    }
  }
}

CpusOfWorkers bound(const Topology& topology,
                    NumaBinding binding,
                    const std::vector<int>& device_nodes,
                    int workers = -1) {
  const auto placements =
      bind_workers(topology,
                   binding,
                   device_nodes,
                   workers < 0 ? static_cast<int>(device_nodes.size()) : workers);
  INFO((placements ? std::string() : placements.error().message()));
  REQUIRE(placements);
  CpusOfWorkers cpus;
  for (const Placement& placement : *placements) {
    cpus.push_back(placement.cpus);
  }
  return cpus;
}

std::string refused(const Topology& topology,
                    NumaBinding binding,
                    const std::vector<int>& device_nodes) {
  const auto placements =
      bind_workers(topology, binding, device_nodes, static_cast<int>(device_nodes.size()));
  REQUIRE_FALSE(placements);
  return placements.error().message();
}

TEST_CASE("node binding gives a worker all CPUs of its device's node", "[agent][numa]") {
  CHECK(bound(two_sockets(), NumaBinding::node, {3, 0, 0}) ==
        CpusOfWorkers{{12, 13, 14, 15, 28, 29, 30, 31},
                      {0, 1, 2, 3, 16, 17, 18, 19},
                      {0, 1, 2, 3, 16, 17, 18, 19}});
}

TEST_CASE("socket binding gives a worker all nodes of the socket", "[agent][numa]") {
  const auto placements = bind_workers(two_sockets(), NumaBinding::socket, {1, 2}, 2);
  REQUIRE(placements);
  CHECK(placements->at(0).cpus == Cpus{0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23});
  CHECK(placements->at(0).nodes == std::set<int>{0, 1});
  CHECK(placements->at(1).nodes == std::set<int>{2, 3});
}

TEST_CASE("socket binding skips nodes without CPUs", "[agent][numa]") {
  Topology topology = two_sockets();
  topology.nodes[4] = {};  // memory only
  forbid(topology, topology.nodes[0]);
  CHECK(bound(topology, NumaBinding::socket, {1}) == CpusOfWorkers{{4, 5, 6, 7, 20, 21, 22, 23}});
}

TEST_CASE("exclusive binding divides the cores of a node among its devices", "[agent][numa]") {
  CHECK(bound(two_sockets(), NumaBinding::exclusive, {0, 1, 0}) ==
        CpusOfWorkers{{0, 1, 16, 17}, {4, 5, 6, 7, 20, 21, 22, 23}, {2, 3, 18, 19}});
}

TEST_CASE("the first devices of a node get the cores that are left over", "[agent][numa]") {
  CHECK(bound(two_sockets(), NumaBinding::exclusive, {0, 0, 0}) ==
        CpusOfWorkers{{0, 1, 16, 17}, {2, 18}, {3, 19}});
}

TEST_CASE("a device that no worker uses keeps its share", "[agent][numa]") {
  CHECK(bound(two_sockets(), NumaBinding::exclusive, {0, 0}, 1) == CpusOfWorkers{{0, 1, 16, 17}});
}

TEST_CASE("the threads of a core stay together where some are forbidden", "[agent][numa]") {
  Topology topology = two_sockets();
  forbid(topology, {0, 17});
  CHECK(bound(topology, NumaBinding::exclusive, {0, 0}) == CpusOfWorkers{{1, 2, 18}, {3, 16, 19}});
}

TEST_CASE("core-complex binding gives each device of a node a cache of its own in turn",
          "[agent][numa]") {
  CHECK(bound(two_sockets(), NumaBinding::core_complex, {0, 0, 2, 0}) ==
        CpusOfWorkers{{0, 1, 16, 17}, {2, 3, 18, 19}, {8, 9, 24, 25}, {0, 1, 16, 17}});
}

TEST_CASE("the largest core complex comes first", "[agent][numa]") {
  Topology topology = two_sockets();
  forbid(topology, {1});
  CHECK(bound(topology, NumaBinding::core_complex, {0, 0}) ==
        CpusOfWorkers{{2, 3, 18, 19}, {0, 16, 17}});
}

TEST_CASE("memory is taken from the nodes of the CPUs", "[agent][numa]") {
  const auto binding =
      GENERATE(NumaBinding::node, NumaBinding::exclusive, NumaBinding::core_complex);
  const auto placements = bind_workers(two_sockets(), binding, {2}, 1);
  REQUIRE(placements);
  CHECK(placements->front().nodes == std::set<int>{2});
}

TEST_CASE("a node without usable CPUs is an error in every mode", "[agent][numa]") {
  const auto binding = GENERATE(
      NumaBinding::node, NumaBinding::socket, NumaBinding::exclusive, NumaBinding::core_complex);
  Topology topology = two_sockets();
  forbid(topology, {4, 5, 6, 7, 20, 21, 22, 23});
  CHECK(refused(topology, binding, {0, 1}) ==
        "--numa-binding: NUMA node 1, for local rank 1, has no CPU that rankrun may use; see "
        "taskset -p and cpuset limits, or leave the option out");
  CHECK_THAT(refused(topology, binding, {9}), Catch::Contains("NUMA node 9, for local rank 0"));
}

TEST_CASE("fewer cores than devices cannot be divided exclusively", "[agent][numa]") {
  CHECK(refused(two_sockets(), NumaBinding::exclusive, {0, 0, 0, 0, 0}) ==
        "--numa-binding=exclusive: NUMA node 0 has fewer usable cores than the 5 GPUs or workers "
        "on it; use node, socket or core-complex");
}

TEST_CASE("workers without devices are spread over the nodes in order", "[agent][numa]") {
  const Topology topology = two_sockets();
  CHECK(spread_over_nodes(topology, 2) == std::vector<int>{0, 2});
  CHECK(spread_over_nodes(topology, 4) == std::vector<int>{0, 1, 2, 3});
  CHECK(spread_over_nodes(topology, 6) == std::vector<int>{0, 0, 1, 2, 2, 3});
}

TEST_CASE("workers are spread over nodes that have CPUs only", "[agent][numa]") {
  Topology topology = two_sockets();
  topology.nodes[0] = {};
  topology.nodes[2] = {};
  CHECK(spread_over_nodes(topology, 2) == std::vector<int>{1, 3});
  topology.nodes = {{0, {}}};
  CHECK_FALSE(spread_over_nodes(topology, 2));
}

}  // namespace
}  // namespace rankrun::agent
