// SPDX-License-Identifier: Apache-2.0
// Where workers run under --numa-binding: decides it for a launch, and has the kernel do it between
// fork and exec.
#pragma once

#include "agent/config.h"
#include "agent/devices.h"
#include "agent/process_spec.h"
#include "store/base/result.h"

#include <filesystem>
#include <set>
#include <vector>

namespace rankrun::agent {

/// The CPUs that this thread may use; never empty.
std::set<int> own_cpus();

/// What the places of workers depend on.
struct PlacementHost {
  std::set<int> allowed;  ///< CPUs
  GpuInventory gpus;
  std::filesystem::path root = "/";  ///< where /sys is looked for
};

/// The place of each worker by local rank; none when the launch asks for no binding, and then
/// nothing is read of the host.
base::Result<std::vector<Placement>> place_workers(const LaunchConfig& config);

/// The same on a given host, for a launch that asks. Worker n belongs to the n-th GPU that CUDA
/// shows; without GPUs, workers are spread over the NUMA nodes.
base::Result<std::vector<Placement>> place_workers(const LaunchConfig& config,
                                                   const PlacementHost& host);

/// A placement as the kernel takes it. Made before fork, so that apply() is async-signal-safe.
class KernelPlacement {
 public:
  explicit KernelPlacement(const Placement& placement);

  /// Moves the calling thread. Returns 0 or the errno of its CPUs; where its memory comes from is a
  /// wish that a kernel may refuse.
  int apply() const noexcept;

 private:
  std::vector<unsigned long> cpus_;
  std::vector<unsigned long> nodes_;
  int memory_policy_;
};

}  // namespace rankrun::agent
