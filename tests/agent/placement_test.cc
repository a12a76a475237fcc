// SPDX-License-Identifier: Apache-2.0
#include "agent/placement.h"

#include "tests/support/fake_sysfs.h"

#include <catch2/catch.hpp>

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace rankrun::agent {
namespace {

using tests::FakeSysfs;
using Cpus = std::set<int>;

// The exit code of a child that does `work`.
int in_child(const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(work());
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

LaunchConfig launch(NumaBinding binding, int workers) {
  LaunchConfig config;
  config.numa_binding = binding;
  config.local_world_size = workers;
  return config;
}

// Two GPUs, on the nodes 3 and 1.
PlacementHost host_with_gpus(FakeSysfs& sysfs) {
  sysfs.write_pci_device("0000:07:00.0", "3");
  sysfs.write_pci_device("0000:08:00.0", "1");
  PlacementHost host{.allowed = FakeSysfs::all_cpus(), .gpus = {}, .root = sysfs.root()};
  host.gpus = {{{"GPU-aa", "0000:07:00.0", {}}, {"GPU-bb", "0000:08:00.0", {}}}, "NVML: 2 devices"};
  return host;
}

TEST_CASE("a process runs on the CPUs of its placement", "[agent][placement]") {
  const Cpus ours = own_cpus();
  REQUIRE_FALSE(ours.empty());
  const Placement last{.cpus = {*ours.rbegin()}, .nodes = {}};
  const KernelPlacement placement(last);
  CHECK(in_child([&] { return placement.apply() == 0 && own_cpus() == last.cpus ? 0 : 1; }) == 0);
  CHECK(own_cpus() == ours);
}

TEST_CASE("CPUs that the host does not have are refused by the kernel's error",
          "[agent][placement]") {
  const KernelPlacement placement({.cpus = {8000}, .nodes = {}});
  CHECK(in_child([&] { return placement.apply(); }) == EINVAL);
}

TEST_CASE("a process prefers the memory of its placement's node", "[agent][placement]") {
  const KernelPlacement placement({.cpus = own_cpus(), .nodes = {0}});
  const int policy = in_child([&] {
    int mode = -1;
    if (placement.apply() != 0) return 100;
    return ::syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0) == 0 ? mode : 101;
  });
  if (policy == 101) {
    WARN("SKIPPED: the kernel does not tell its memory policy");
  } else {
    CHECK(policy == MPOL_PREFERRED);
  }
}

TEST_CASE("a memory node that the kernel refuses does not hinder the process",
          "[agent][placement]") {
  const auto nodes = GENERATE(std::set<int>{900}, std::set<int>{0, 900}, std::set<int>{1, 2});
  const KernelPlacement placement({.cpus = own_cpus(), .nodes = nodes});
  CHECK(in_child([&] { return placement.apply(); }) == 0);
}

TEST_CASE("a launch without binding places no worker", "[agent][placement]") {
  const auto placements = place_workers(LaunchConfig());
  REQUIRE(placements);
  CHECK(placements->empty());
}

TEST_CASE("workers run on the node of the GPU with their local rank", "[agent][placement]") {
  FakeSysfs sysfs;
  const auto placements = place_workers(launch(NumaBinding::node, 2), host_with_gpus(sysfs));
  REQUIRE(placements);
  CHECK(*placements == std::vector<Placement>{{{12, 13, 14, 15, 28, 29, 30, 31}, {3}},
                                              {{4, 5, 6, 7, 20, 21, 22, 23}, {1}}});
}

TEST_CASE("workers follow the order of the visible devices", "[agent][placement]") {
  FakeSysfs sysfs;
  LaunchConfig config = launch(NumaBinding::node, 1);
  config.environment["CUDA_VISIBLE_DEVICES"] = "GPU-bb";
  const auto placements = place_workers(config, host_with_gpus(sysfs));
  REQUIRE(placements);
  CHECK(placements->at(0).nodes == std::set<int>{1});
}

TEST_CASE("without visible GPUs workers are spread over the nodes", "[agent][placement]") {
  FakeSysfs sysfs;
  LaunchConfig config = launch(NumaBinding::exclusive, 8);
  config.environment["CUDA_VISIBLE_DEVICES"] = "";
  const auto placements = place_workers(config, host_with_gpus(sysfs));
  REQUIRE(placements);
  REQUIRE(placements->size() == 8);
  CHECK(placements->at(0) == Placement{{0, 1, 16, 17}, {0}});
  CHECK(placements->at(7) == Placement{{14, 15, 30, 31}, {3}});
}

TEST_CASE("only CPUs that rankrun may use are given to workers", "[agent][placement]") {
  FakeSysfs sysfs;
  PlacementHost host = host_with_gpus(sysfs);
  host.allowed = {5, 13, 29};
  const auto placements = place_workers(launch(NumaBinding::socket, 2), host);
  REQUIRE(placements);
  CHECK(placements->at(0).cpus == Cpus{13, 29});
  CHECK(placements->at(1).cpus == Cpus{5});
}

TEST_CASE("more workers than visible GPUs are not bound", "[agent][placement]") {
  FakeSysfs sysfs;
  const auto refused = place_workers(launch(NumaBinding::node, 3), host_with_gpus(sysfs));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message() ==
        "--numa-binding: 3 workers for 2 GPUs (NVML: 2 devices); start one worker per GPU, or "
        "leave the option out");
}

TEST_CASE("a GPU whose place is not known is not guessed", "[agent][placement]") {
  FakeSysfs sysfs;
  PlacementHost host = host_with_gpus(sysfs);
  host.gpus = {std::vector<Gpu>(1), "no NVML (reason), /dev/nvidia*: 1 device"};
  const auto refused = place_workers(launch(NumaBinding::node, 1), host);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message() ==
        "--numa-binding: the PCI address of GPU 0 is not known (no NVML (reason), /dev/nvidia*: 1 "
        "device); leave the option out");
}

TEST_CASE("a topology that cannot be read is an error of the launch", "[agent][placement]") {
  FakeSysfs sysfs;
  sysfs.write("node/node0/cpulist", "garbage");
  CHECK_FALSE(place_workers(launch(NumaBinding::node, 2), host_with_gpus(sysfs)));
}

}  // namespace
}  // namespace rankrun::agent
