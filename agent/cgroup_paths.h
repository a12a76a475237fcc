// SPDX-License-Identifier: Apache-2.0
// Where the cgroups of this process are. Both versions of cgroups, wherever they are mounted.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace rankrun::agent {

enum class CgroupVersion { v1, v2 };

/// The cgroup that we are in, in one hierarchy and as one of its mounts shows it.
struct OwnCgroup {
  std::filesystem::path top;    ///< where it is mounted
  std::filesystem::path below;  ///< from there to our cgroup, relative
  /// False where no mount shows our cgroup, as in some containers: then this is the top of what is
  /// mounted, which holds us.
  bool is_ours = true;

  std::filesystem::path path() const { return below.empty() ? top : top / below; }
};

/// One for each mount of the hierarchy; none when there is no such hierarchy. `controller` tells
/// which of version 1 is meant ("cpu", "memory"); version 2 has one for all. `root` is where /proc
/// and the mount points are looked for.
std::vector<OwnCgroup> own_cgroups(CgroupVersion version,
                                   std::string_view controller,
                                   const std::filesystem::path& root = "/");

}  // namespace rankrun::agent
