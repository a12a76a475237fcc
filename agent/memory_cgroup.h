// SPDX-License-Identifier: Apache-2.0
// What the kernel says about memory in a cgroup: the limit, the peak, and how often it killed.
#pragma once

#include "agent/cgroup_paths.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace rankrun::agent {

/// A cgroup that counts memory, of either version.
struct MemoryCgroup {
  CgroupVersion version = CgroupVersion::v2;
  std::filesystem::path path;
};

/// A process that the kernel killed for lack of memory.
struct OutOfMemory {
  std::optional<std::uint64_t> limit;  ///< bytes; unset: the cgroup has none, so the host ran out
  std::optional<std::uint64_t>
      peak;  ///< bytes, of all processes in the cgroup; not all kernels tell

  bool operator==(const OutOfMemory&) const = default;
};

/// The one that we are in; nothing where memory is not counted. `root` is where /proc and the mount
/// points are looked for.
std::optional<MemoryCgroup> own_memory_cgroup(const std::filesystem::path& root = "/");

/// How many processes in it the kernel has killed for lack of memory, ever (version 2: and below
/// it).
std::optional<std::uint64_t> memory_kills(const MemoryCgroup& cgroup);

/// The smallest limit that holds for it, and its peak.
OutOfMemory memory_facts(const MemoryCgroup& cgroup);

}  // namespace rankrun::agent
