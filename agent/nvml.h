// SPDX-License-Identifier: Apache-2.0
// Asks NVIDIA's management library for the GPUs of this host. It is loaded for the question and
// unloaded again: nothing of CUDA is linked, and nothing is loaded by a launch that does not ask.
#pragma once

#include "agent/devices.h"

#include <filesystem>
#include <string>

namespace rankrun::agent {

/// By NVML; without it, by the device files in `device_folder`, of which only the number is known.
/// `library` is what dlopen takes. May take a second where the driver has to wake up.
GpuInventory read_gpus(const std::string& library = "libnvidia-ml.so.1",
                       const std::filesystem::path& device_folder = "/dev");

}  // namespace rankrun::agent
