// SPDX-License-Identifier: Apache-2.0
// A double of libnvidia-ml.so.1, told by environment variables what to answer:
//   FAKE_NVML_GPUS  GPUs separated by ";", each "UUID DOMAIN:BUS:DEVICE" in hexadecimal and then
//   its
//                   MIG devices, "UUID:GPU_INSTANCE:COMPUTE_INSTANCE" or "-" for a free place;
//                   "lost" instead of a GPU is one that cannot be opened
//   FAKE_NVML_INIT  what nvmlInit_v2 answers, 0 when unset
// Built a second time without the functions for MIG, as in old drivers. Uses nothing of the C++
// library, whose copies in several loaded libraries would get into each other's way.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotFound = 6;
constexpr int kGpuIsLost = 15;

constexpr unsigned kMostGpus = 16;
constexpr unsigned kMostSlices = 8;

// A GPU or, without slices of its own, one of its slices.
struct FakeDevice {
  char uuid[96];  // empty: a free place for a slice
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned gpu_instance;
  unsigned compute_instance;
  FakeDevice* slices;
  unsigned slice_count;
};

// As NVML documents it.
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

FakeDevice gpus[kMostGpus];
FakeDevice slices[kMostGpus][kMostSlices];
unsigned gpu_count = 0;

const char* variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): tests have one thread
  return value == nullptr ? "" : value;
}

// Copies the text up to one of the separators and returns what follows it.
const char* take(const char* text, const char* separators, char (&part)[200]) {
  const std::size_t length = std::strcspn(text, separators);
  std::snprintf(part, sizeof part, "%.*s", static_cast<int>(length), text);
  return text + length + (text[length] == '\0' ? 0 : 1);
}

void parse_slice(const char* text, FakeDevice& slice) {
  std::sscanf(text, "%95[^:]:%u:%u", slice.uuid, &slice.gpu_instance, &slice.compute_instance);
  if (std::strcmp(text, "-") == 0) slice.uuid[0] = '\0';
}

void parse_gpu(const char* text, unsigned index) {
  FakeDevice& gpu = gpus[index];
  gpu.slices = slices[index];
  char word[200];
  text = take(text, " ", word);
  std::snprintf(gpu.uuid, sizeof gpu.uuid, "%.95s", word);
  text = take(text, " ", word);
  std::sscanf(word, "%x:%x:%x", &gpu.domain, &gpu.bus, &gpu.device);
  while (*text != '\0' && gpu.slice_count < kMostSlices) {
    text = take(text, " ", word);
    parse_slice(word, gpu.slices[gpu.slice_count++]);
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names
extern "C" {

int nvmlInit_v2() {
  std::memset(gpus, 0, sizeof gpus);
  std::memset(slices, 0, sizeof slices);
  gpu_count = 0;
  const char* text = variable("FAKE_NVML_GPUS");
  char gpu[200];
  while (*text != '\0' && gpu_count < kMostGpus) {
    text = take(text, ";", gpu);
    parse_gpu(gpu, gpu_count++);
  }
  return static_cast<int>(std::strtol(variable("FAKE_NVML_INIT"), nullptr, 10));
}

int nvmlShutdown() {
  gpu_count = 0;
  return kSuccess;
}

const char* nvmlErrorString(int result) {
  return result == 9 ? "Driver Not Loaded" : "Another Error";
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = gpu_count;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, FakeDevice** device) {
  if (index >= gpu_count) return kInvalidArgument;
  if (std::strcmp(gpus[index].uuid, "lost") == 0) return kGpuIsLost;
  *device = &gpus[index];
  return kSuccess;
}

int nvmlDeviceGetUUID(const FakeDevice* device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", device->uuid);
  return kSuccess;
}

int nvmlDeviceGetPciInfo_v3(const FakeDevice* device, PciInfo* info) {
  std::memset(info, 0, sizeof *info);
  info->domain = device->domain;
  info->bus = device->bus;
  info->device = device->device;
  return kSuccess;
}

#ifndef FAKE_NVML_WITHOUT_MIG

int nvmlDeviceGetMigMode(const FakeDevice* device, unsigned* current, unsigned* pending) {
  *current = device->slice_count == 0 ? 0 : 1;
  *pending = *current;
  return kSuccess;
}

int nvmlDeviceGetMaxMigDeviceCount(const FakeDevice* device, unsigned* count) {
  *count = device->slice_count;
  return kSuccess;
}

int nvmlDeviceGetMigDeviceHandleByIndex(FakeDevice* device, unsigned index, FakeDevice** slice) {
  if (index >= device->slice_count) return kInvalidArgument;
  if (device->slices[index].uuid[0] == '\0') return kNotFound;
  *slice = &device->slices[index];
  return kSuccess;
}

int nvmlDeviceGetGpuInstanceId(const FakeDevice* slice, unsigned* id) {
  *id = slice->gpu_instance;
  return kSuccess;
}

int nvmlDeviceGetComputeInstanceId(const FakeDevice* slice, unsigned* id) {
  *id = slice->compute_instance;
  return kSuccess;
}

#endif

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
