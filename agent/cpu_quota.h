// SPDX-License-Identifier: Apache-2.0
// How much CPU time the cgroups of this process allow, in cores. Both versions of cgroups, wherever
// they are mounted.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace rankrun::agent {

/// Version 2, `cpu.max`: "150000 100000" is 1.5 cores, "max 100000" no limit.
std::optional<double> parse_cpu_max(std::string_view text);

/// Version 1, `cpu.cfs_quota_us` and `cpu.cfs_period_us`: a negative quota is no limit.
std::optional<double> parse_cfs_quota(std::string_view quota, std::string_view period);

/// The smallest limit on the way from this process's cgroup up to the root; nothing when there is
/// none. `root` is where /proc and the mount points are looked for.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace rankrun::agent
