// SPDX-License-Identifier: Apache-2.0
#include "agent/nvml.h"

#include "store/base/text.h"

#include <fmt/format.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace rankrun::agent {

using base::failure;
using base::Result;

namespace {

// What we need of NVML's C interface, by its public documentation.
using NvmlDevice = struct NvmlDeviceTag*;
using NvmlResult = int;  // 0: success
struct NvmlPciInfo {
  std::array<char, 16> legacy_bus_id;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  std::array<char, 32> bus_id;
};
static_assert(sizeof(NvmlPciInfo) == 68);
using UuidText = std::array<char, 96>;
constexpr unsigned kMigEnabled = 1;

struct Unload {
  void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, Unload>;

template <typename Function>
bool find(const Library& library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library.get(), name));
  return function != nullptr;
}

std::string loader_error() {
  const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one per thread
  return text == nullptr ? "unknown error of dlopen" : text;
}

std::string text_of(const UuidText& text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

// The library between nvmlInit and nvmlShutdown.
class Nvml {
 public:
  static Result<Nvml> open(const std::string& name);
  ~Nvml() {
    if (library_) shutdown_();
  }
  Nvml(Nvml&&) noexcept = default;
  Nvml& operator=(Nvml&&) = delete;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  Result<std::vector<Gpu>> gpus() const;

 private:
  explicit Nvml(Library library) : library_(std::move(library)) {}
  std::optional<std::string> missing_function();
  void find_mig_functions();
  tl::unexpected<base::Error> refused(std::string_view function, NvmlResult result) const;
  Gpu gpu(unsigned index) const;
  std::vector<MigDevice> mig_devices(NvmlDevice gpu, const std::string& gpu_uuid) const;
  std::string legacy_name(NvmlDevice mig, const std::string& gpu_uuid) const;

  Library library_;
  NvmlResult (*init_)() = nullptr;
  NvmlResult (*shutdown_)() = nullptr;
  NvmlResult (*count_)(unsigned*) = nullptr;
  NvmlResult (*handle_)(unsigned, NvmlDevice*) = nullptr;
  NvmlResult (*uuid_)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlResult (*pci_info_)(NvmlDevice, NvmlPciInfo*) = nullptr;
  // Null in old libraries.
  const char* (*error_text_)(NvmlResult) = nullptr;
  NvmlResult (*mig_mode_)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  NvmlResult (*mig_limit_)(NvmlDevice, unsigned*) = nullptr;
  NvmlResult (*mig_handle_)(NvmlDevice, unsigned, NvmlDevice*) = nullptr;
  NvmlResult (*gpu_instance_)(NvmlDevice, unsigned*) = nullptr;
  NvmlResult (*compute_instance_)(NvmlDevice, unsigned*) = nullptr;
};

Result<Nvml> Nvml::open(const std::string& name) {
  Library library(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library) return failure({}, loader_error());
  Nvml nvml(std::move(library));
  std::optional<base::Error> error;
  if (const auto missing = nvml.missing_function()) {
    error = base::Error{{}, name + " has no " + *missing, {}};
  } else if (const NvmlResult result = nvml.init_(); result != 0) {
    error = nvml.refused("nvmlInit_v2", result).value();
  }
  if (error) {
    nvml.library_.reset();  // not initialised: nothing to shut down
    return failure(std::move(*error));
  }
  return nvml;
}

std::optional<std::string> Nvml::missing_function() {
  if (!find(library_, "nvmlInit_v2", init_)) return "nvmlInit_v2";
  if (!find(library_, "nvmlShutdown", shutdown_)) return "nvmlShutdown";
  if (!find(library_, "nvmlDeviceGetCount_v2", count_)) return "nvmlDeviceGetCount_v2";
  if (!find(library_, "nvmlDeviceGetHandleByIndex_v2", handle_)) {
    return "nvmlDeviceGetHandleByIndex_v2";
  }
  if (!find(library_, "nvmlDeviceGetUUID", uuid_)) return "nvmlDeviceGetUUID";
  if (!find(library_, "nvmlDeviceGetPciInfo_v3", pci_info_)) return "nvmlDeviceGetPciInfo_v3";
  find(library_, "nvmlErrorString", error_text_);
  find_mig_functions();
  return std::nullopt;
}

void Nvml::find_mig_functions() {
  const bool has_all = find(library_, "nvmlDeviceGetMaxMigDeviceCount", mig_limit_) &&
                       find(library_, "nvmlDeviceGetMigDeviceHandleByIndex", mig_handle_) &&
                       find(library_, "nvmlDeviceGetMigMode", mig_mode_);
  if (!has_all) mig_mode_ = nullptr;
  find(library_, "nvmlDeviceGetGpuInstanceId", gpu_instance_);
  find(library_, "nvmlDeviceGetComputeInstanceId", compute_instance_);
}

tl::unexpected<base::Error> Nvml::refused(std::string_view function, NvmlResult result) const {
  const std::string text = error_text_ == nullptr ? std::string() : error_text_(result);
  return failure(
      {}, fmt::format("{} failed with {}{}", function, result, text.empty() ? "" : ": " + text));
}

Result<std::vector<Gpu>> Nvml::gpus() const {
  unsigned count = 0;
  if (const auto result = count_(&count); result != 0) {
    return refused("nvmlDeviceGetCount_v2", result);
  }
  std::vector<Gpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    gpus.push_back(gpu(index));
  }
  return gpus;
}

// A broken GPU counts, with nothing known of it: CUDA has an index for it, too.
Gpu Nvml::gpu(unsigned index) const {
  Gpu gpu;
  NvmlDevice device = nullptr;
  if (handle_(index, &device) != 0) return gpu;
  UuidText uuid{};
  if (uuid_(device, uuid.data(), uuid.size()) == 0) gpu.uuid = text_of(uuid);
  NvmlPciInfo pci{};
  if (pci_info_(device, &pci) == 0) {
    gpu.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
  }
  gpu.mig_devices = mig_devices(device, gpu.uuid);
  return gpu;
}

std::vector<MigDevice> Nvml::mig_devices(NvmlDevice gpu, const std::string& gpu_uuid) const {
  unsigned mode = 0;
  unsigned mode_after_reset = 0;
  unsigned limit = 0;
  if (mig_mode_ == nullptr || mig_mode_(gpu, &mode, &mode_after_reset) != 0) return {};
  if (mode != kMigEnabled || mig_limit_(gpu, &limit) != 0) return {};
  std::vector<MigDevice> devices;
  for (unsigned index = 0; index < limit; ++index) {
    NvmlDevice mig = nullptr;
    UuidText uuid{};
    if (mig_handle_(gpu, index, &mig) != 0) continue;  // a free place
    if (uuid_(mig, uuid.data(), uuid.size()) != 0) continue;
    devices.push_back({text_of(uuid), legacy_name(mig, gpu_uuid)});
  }
  return devices;
}

std::string Nvml::legacy_name(NvmlDevice mig, const std::string& gpu_uuid) const {
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  if (gpu_instance_ == nullptr || gpu_instance_(mig, &gpu_instance) != 0) return {};
  if (compute_instance_ == nullptr || compute_instance_(mig, &compute_instance) != 0) return {};
  return fmt::format("MIG-{}/{}/{}", gpu_uuid, gpu_instance, compute_instance);
}

Result<std::vector<Gpu>> query_nvml(const std::string& library) {
  const auto nvml = Nvml::open(library);
  if (!nvml) return failure(nvml.error());
  return nvml->gpus();
}

bool is_device_file(std::string_view name) {
  constexpr std::string_view kPrefix = "nvidia";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return false;
  name.remove_prefix(kPrefix.size());
  return std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::size_t count_device_files(const std::filesystem::path& folder) {
  std::size_t count = 0;
  std::error_code ignored;  // no such folder: no device
  auto entry = std::filesystem::directory_iterator(folder, ignored);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    if (is_device_file(entry->path().filename().string())) ++count;
  }
  return count;
}

std::string devices_text(std::size_t count) {
  return fmt::format("{} device{}", count, count == 1 ? "" : "s");
}

}  // namespace

GpuInventory read_gpus(const std::string& library, const std::filesystem::path& device_folder) {
  auto gpus = query_nvml(library);
  if (gpus) {
    std::string how = "NVML: " + devices_text(gpus->size());
    return {std::move(*gpus), std::move(how)};
  }
  const std::size_t count = count_device_files(device_folder);
  return {std::vector<Gpu>(count),
          fmt::format("no NVML ({}), {}: {}",
                      base::escape_control(gpus.error().message()),
                      (device_folder / "nvidia*").string(),
                      devices_text(count))};
}

}  // namespace rankrun::agent
