// SPDX-License-Identifier: Apache-2.0
#include "agent/devices.h"

#include <catch2/catch.hpp>

#include <utility>

namespace rankrun::agent {
namespace {

using Uuids = std::vector<std::string>;

GpuInventory four_gpus() {
  GpuInventory inventory{.gpus = {}, .how = "NVML: 4 devices"};
  for (const auto* uuid : {"GPU-aa11", "GPU-ab22", "GPU-cc33", "GPU-cc34"}) {
    inventory.gpus.push_back({uuid, "0000:07:00.0", {}});
  }
  inventory.gpus[2].mig_devices = {{"MIG-5e1f", "MIG-GPU-cc33/1/0"},
                                   {"MIG-5eff", "MIG-GPU-cc33/1/10"}};
  inventory.gpus[3].mig_devices = {{"MIG-77aa", "MIG-GPU-cc34/2/0"}};
  return inventory;
}

VisibleDevices visible(const std::optional<std::string>& list) {
  return visible_devices(four_gpus(), list);
}

Uuids uuids(const std::optional<std::string>& list) {
  Uuids uuids;
  for (const Device& device : visible(list).devices) {
    uuids.push_back(device.uuid);
  }
  return uuids;
}

TEST_CASE("without a device list CUDA shows every GPU", "[agent][devices]") {
  CHECK(visible(std::nullopt).count == 4);
  CHECK(uuids(std::nullopt) == Uuids{"GPU-aa11", "GPU-ab22", "GPU-cc33", "GPU-cc34"});
  CHECK(visible(std::nullopt).how == "NVML: 4 devices");
}

TEST_CASE("indices show GPUs in the order of the list", "[agent][devices]") {
  CHECK(uuids("2,0") == Uuids{"GPU-cc33", "GPU-aa11"});
  CHECK(uuids(" 1 , 3") == Uuids{"GPU-ab22", "GPU-cc34"});
  CHECK(visible("2,0").how == "NVML: 4 devices, CUDA_VISIBLE_DEVICES names 2 of them");
}

TEST_CASE("indices are read as strtol does", "[agent][devices]") {
  CHECK(uuids("+1,-0,2gpu") == Uuids{"GPU-ab22", "GPU-aa11", "GPU-cc33"});
}

TEST_CASE("a device list ends at its first invalid entry", "[agent][devices]") {
  const auto* invalid = GENERATE("-1", "4", "99999999999999999999", "x", "", "+", "GPU-aa11");
  INFO("entry " << invalid);
  CHECK(uuids(std::string("2,") + invalid + ",0") == Uuids{"GPU-cc33"});
  CHECK(uuids(std::string(invalid) == "GPU-aa11" ? "-1" : std::string(invalid)).empty());
}

TEST_CASE("the reason why a device list ends early is told on one line", "[agent][devices]") {
  CHECK(visible("1,-1,2").how ==
        "NVML: 4 devices, CUDA_VISIBLE_DEVICES names 1 of them: '-1' ends the list");
  CHECK(visible("1,\x1b\n5").how ==
        "NVML: 4 devices, CUDA_VISIBLE_DEVICES names 1 of them: '\\x1b\\x0a5' ends the list");
}

TEST_CASE("an empty device list hides every GPU", "[agent][devices]") {
  for (const auto* list : {"", "  "}) {
    CHECK(visible(list).count == 0);
    CHECK(visible(list).how == "NVML: 4 devices, CUDA_VISIBLE_DEVICES is empty");
  }
}

TEST_CASE("a device that is listed twice hides every GPU", "[agent][devices]") {
  CHECK(uuids("0,1,2,1").empty());
  CHECK(uuids("GPU-aa11,GPU-ab,GPU-aa").empty());
  CHECK(uuids("MIG-77aa,MIG-GPU-cc34/2/0").empty());
  CHECK(
      visible("0,1,1").how ==
      "NVML: 4 devices, CUDA_VISIBLE_DEVICES names 0 of them: '1' is there twice, which hides all");
  CHECK(uuids("0,-1,0") == Uuids{"GPU-aa11"});  // what follows an invalid entry does not count
}

TEST_CASE("a GPU is named by its UUID or a beginning that no other has", "[agent][devices]") {
  CHECK(uuids("GPU-cc34,GPU-ab") == Uuids{"GPU-cc34", "GPU-ab22"});
  CHECK(uuids("GPU-ab22,GPU-cc3,GPU-aa11") == Uuids{"GPU-ab22"});
  CHECK(uuids("GPU-ab22,2") == Uuids{"GPU-ab22"});
  CHECK(uuids("GPU-ffff").empty());
}

TEST_CASE("a UUID that begins another one names its own GPU", "[agent][devices]") {
  GpuInventory inventory{.gpus = {{"GPU-1", {}, {}}, {"GPU-12", {}, {}}}, .how = {}};
  CHECK(visible_devices(inventory, "GPU-1").devices[0].gpu == 0);
}

TEST_CASE("of the MIG devices in a list one process sees one", "[agent][devices]") {
  CHECK(uuids("MIG-77aa,MIG-5e1f") == Uuids{"MIG-77aa", "MIG-5e1f"});
  CHECK(visible("MIG-77aa,MIG-5e1f").devices[1].gpu == 2);
  CHECK(visible("MIG-77aa,MIG-5e1f").count == 1);
  CHECK(visible("MIG-77aa,MIG-5e1f").how ==
        "NVML: 4 devices, CUDA_VISIBLE_DEVICES names 2 MIG devices, of which a process sees one");
  CHECK(visible("MIG-77").count == 1);
  CHECK(visible("MIG-0000").count == 0);
}

TEST_CASE("a MIG device is also named by its GPU and its instances", "[agent][devices]") {
  CHECK(uuids("MIG-GPU-cc33/1/10") == Uuids{"MIG-5eff"});
  CHECK(uuids("MIG-GPU-cc33/1/0") == Uuids{"MIG-5e1f"});
  CHECK(uuids("MIG-GPU-cc33/1").empty());
}

TEST_CASE("devices without known UUIDs are listed by index only", "[agent][devices]") {
  const GpuInventory inventory{.gpus = std::vector<Gpu>(2), .how = "/dev: 2 devices"};
  CHECK(visible_devices(inventory, "1").count == 1);
  CHECK(visible_devices(inventory, "1,0").count == 2);
  CHECK(visible_devices(inventory, "GPU-aa11").count == 0);
}

TEST_CASE("a worker with a virtual local rank sees its own entry of the list", "[agent][devices]") {
  CHECK(virtual_device(std::nullopt, 3) == "3");
  CHECK(virtual_device("4, 6 ,GPU-1", 1) == "6");
  CHECK(virtual_device("4, 6 ,GPU-1", 2) == "GPU-1");
  CHECK(virtual_device("", 0) == "");
}

TEST_CASE("a virtual local rank beyond the device list is an error", "[agent][devices]") {
  const auto refused = virtual_device("4,6", 2);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message() ==
        "local rank 2 exceeds available GPUs in CUDA_VISIBLE_DEVICES=4,6; start fewer workers or "
        "name more devices");
  CHECK_FALSE(virtual_device("", 1));
}

}  // namespace
}  // namespace rankrun::agent
