// SPDX-License-Identifier: Apache-2.0
// Pure: which of a host's GPUs a CUDA process sees, by the rules of CUDA_VISIBLE_DEVICES.
#pragma once

#include "store/base/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rankrun::agent {

/// A slice of a GPU.
struct MigDevice {
  std::string uuid;         ///< "MIG-<uuid>"
  std::string legacy_name;  ///< "MIG-GPU-<uuid>/<GPU instance>/<compute instance>"; may be empty

  bool operator==(const MigDevice&) const = default;
};

struct Gpu {
  std::string uuid;         ///< "GPU-<uuid>"; empty: not known
  std::string pci_address;  ///< as sysfs writes it, "0000:07:00.0"; empty: not known
  std::vector<MigDevice> mig_devices;

  bool operator==(const Gpu&) const = default;
};

/// The GPUs of this host, by index.
struct GpuInventory {
  std::vector<Gpu> gpus;
  std::string how;  ///< how they were found, for a person
};

/// A GPU, or a slice of one.
struct Device {
  std::size_t gpu = 0;  ///< index in the inventory
  std::string uuid;
  std::string legacy_name;

  bool operator==(const Device&) const = default;
};

struct VisibleDevices {
  std::vector<Device> devices;  ///< in the order that CUDA gives them
  int count = 0;                ///< how many of them one process sees: of several slices only one
  std::string how;              ///< how the count was found, for a person
};

/// `list` is CUDA_VISIBLE_DEVICES, when it is set. A list ends at its first invalid entry, as in
/// CUDA; a device that is named twice hides all.
VisibleDevices visible_devices(const GpuInventory& inventory,
                               const std::optional<std::string>& list);

/// CUDA_VISIBLE_DEVICES of a worker that shall see one device only, with the launcher's `list`.
base::Result<std::string> virtual_device(const std::optional<std::string>& list, int local_rank);

}  // namespace rankrun::agent
