// SPDX-License-Identifier: Apache-2.0
#include "agent/nvml.h"

#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <stdlib.h>

namespace rankrun::agent {
namespace {

constexpr auto kLibrary = FAKE_NVML;
constexpr auto kOldLibrary = FAKE_NVML_WITHOUT_MIG;

// What the double of the library answers, for one test case.
class FakeAnswers {
 public:
  explicit FakeAnswers(const char* gpus, const char* init = "0") {
    ::setenv("FAKE_NVML_GPUS", gpus, 1);  // NOLINT(concurrency-mt-unsafe): one thread
    ::setenv("FAKE_NVML_INIT", init, 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~FakeAnswers() {
    ::unsetenv("FAKE_NVML_GPUS");  // NOLINT(concurrency-mt-unsafe)
    ::unsetenv("FAKE_NVML_INIT");  // NOLINT(concurrency-mt-unsafe)
  }
  FakeAnswers(const FakeAnswers&) = delete;
  FakeAnswers& operator=(const FakeAnswers&) = delete;
};

GpuInventory read_without_devices(const char* library) {
  const tests::TempDir no_devices;
  return read_gpus(library, no_devices.path());
}

TEST_CASE("NVML tells UUID and PCI address of every GPU", "[agent][nvml]") {
  const FakeAnswers answers("GPU-aa 0:7:0;GPU-bb 1:c1:1f");
  const GpuInventory inventory = read_without_devices(kLibrary);
  CHECK(inventory.gpus ==
        std::vector<Gpu>{{"GPU-aa", "0000:07:00.0", {}}, {"GPU-bb", "0001:c1:1f.0", {}}});
  CHECK(inventory.how == "NVML: 2 devices");
}

TEST_CASE("NVML tells the MIG devices of a GPU, and free places are none", "[agent][nvml]") {
  const FakeAnswers answers("GPU-aa 0:7:0;GPU-bb 0:8:0 MIG-x:1:0 - MIG-y:2:5");
  const GpuInventory inventory = read_without_devices(kLibrary);
  REQUIRE(inventory.gpus.size() == 2);
  CHECK(inventory.gpus[0].mig_devices.empty());
  CHECK(inventory.gpus[1].mig_devices ==
        std::vector<MigDevice>{{"MIG-x", "MIG-GPU-bb/1/0"}, {"MIG-y", "MIG-GPU-bb/2/5"}});
}

TEST_CASE("a library that knows no MIG tells of its GPUs", "[agent][nvml]") {
  const FakeAnswers answers("GPU-bb 0:8:0 MIG-x:1:0");
  CHECK(read_without_devices(kOldLibrary).gpus == std::vector<Gpu>{{"GPU-bb", "0000:08:00.0", {}}});
}

TEST_CASE("a GPU that cannot be opened keeps its index", "[agent][nvml]") {
  const FakeAnswers answers("lost;GPU-bb 0:8:0");
  CHECK(read_without_devices(kLibrary).gpus ==
        std::vector<Gpu>{Gpu{}, {"GPU-bb", "0000:08:00.0", {}}});
}

TEST_CASE("a host with the library and no GPU has none", "[agent][nvml]") {
  const FakeAnswers answers("");
  const GpuInventory inventory = read_without_devices(kLibrary);
  CHECK(inventory.gpus.empty());
  CHECK(inventory.how == "NVML: 0 devices");
}

TEST_CASE("without the library device files are counted", "[agent][nvml]") {
  const tests::TempDir devices;
  for (const auto* name : {"nvidia0", "nvidia2", "nvidia13", "nvidiactl", "nvidia-uvm", "nvidia"}) {
    devices.file(name, "");
  }
  const GpuInventory inventory = read_gpus("libnvidia-ml-missing.so.1", devices.path());
  CHECK(inventory.gpus == std::vector<Gpu>(3));
  CHECK_THAT(inventory.how,
             Catch::StartsWith("no NVML (libnvidia-ml-missing.so.1: cannot open shared object "
                               "file: No such file or directory), ") &&
                 Catch::EndsWith("/nvidia*: 3 devices"));
}

TEST_CASE("a library that fails to start says why", "[agent][nvml]") {
  const FakeAnswers answers("GPU-aa 0:7:0", "9");
  const GpuInventory inventory = read_without_devices(kLibrary);
  CHECK(inventory.gpus.empty());
  CHECK_THAT(inventory.how,
             Catch::StartsWith("no NVML (nvmlInit_v2 failed with 9: Driver Not Loaded), "));
}

TEST_CASE("another library under the same name is not NVML", "[agent][nvml]") {
  CHECK_THAT(read_without_devices("libm.so.6").how,
             Catch::StartsWith("no NVML (libm.so.6 has no nvmlInit_v2), "));
}

TEST_CASE("a file that is no library is told of", "[agent][nvml]") {
  const tests::TempDir folder;
  const std::string garbage = folder.file("libnvidia-ml.so.1", "not a library");
  CHECK_THAT(read_without_devices(garbage.c_str()).how, Catch::Contains("file too short"));
}

TEST_CASE("a missing device folder has no devices", "[agent][nvml]") {
  const tests::TempDir folder;
  CHECK(read_gpus("libnvidia-ml-missing.so.1", folder.path() / "none").gpus.empty());
}

}  // namespace
}  // namespace rankrun::agent
