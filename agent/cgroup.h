// SPDX-License-Identifier: Apache-2.0
// A cgroup (version 2) of our own: what is started in it stays in it, and all of it can be killed
// at once, whatever its processes do.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <vector>

namespace rankrun::agent {

/// A place where we may make cgroups; nothing when there is none. It is the cgroup that we are in.
std::optional<std::filesystem::path> find_cgroup_parent(const std::filesystem::path& root = "/");

/// Kills all that is in the cgroup and below it. False when that cannot be asked for: it is gone,
/// or not ours any more.
bool kill_cgroup(const std::filesystem::path& cgroup);

/// Whether a process lives in it or below it, frozen or not; nothing when it cannot be read.
std::optional<bool> is_populated(const std::filesystem::path& cgroup);

/// The processes in it and below it that this process can see.
std::vector<pid_t> processes_in(const std::filesystem::path& cgroup);

/// Removes it and what is below it, all of it empty. What the kernel still holds stays.
void remove_cgroup(const std::filesystem::path& cgroup);

}  // namespace rankrun::agent
