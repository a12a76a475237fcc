// SPDX-License-Identifier: Apache-2.0
#include "agent/cgroup.h"

#include "agent/cgroup_paths.h"
#include "agent/kernel_files.h"
#include "store/base/text.h"

#include <unistd.h>

#include <string>
#include <system_error>

namespace rankrun::agent {

namespace fs = std::filesystem;

namespace {

// The folders below `folder`, none of which is a link. Nothing is thrown when some vanish.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  auto entry = fs::directory_iterator(folder, ignored);
  for (; entry != fs::directory_iterator(); entry.increment(ignored)) {
    if (entry->is_directory(ignored) && !entry->is_symlink(ignored)) found.push_back(entry->path());
  }
  return found;
}

}  // namespace

std::optional<fs::path> find_cgroup_parent(const fs::path& root) {
  for (const OwnCgroup& own : own_cgroups(CgroupVersion::v2, {}, root)) {
    if (!own.is_ours) continue;
    fs::path parent = own.path();
    const bool is_writable = ::access(parent.c_str(), W_OK | X_OK) == 0 &&
                             ::access((parent / "cgroup.procs").c_str(), W_OK) == 0;
    if (is_writable) return parent;
  }
  return std::nullopt;
}

bool kill_cgroup(const fs::path& cgroup) {
  return write_kernel_file(cgroup / "cgroup.kill", "1");
}

std::optional<bool> is_populated(const fs::path& cgroup) {
  const auto events = read_kernel_file(cgroup / "cgroup.events");
  if (!events) return std::nullopt;
  for (const std::string_view line : base::split(*events, '\n')) {
    if (line == "populated 0") return false;
    if (line == "populated 1") return true;
  }
  return std::nullopt;
}

std::vector<pid_t> processes_in(const fs::path& cgroup) {
  std::vector<pid_t> processes;
  const std::string text = read_kernel_file(cgroup / "cgroup.procs").value_or("");
  for (const std::string_view line : base::split(text, '\n')) {
    if (const auto pid = parse_number(line)) processes.push_back(*pid);
  }
  for (const fs::path& below : folders_in(cgroup)) {
    const auto more = processes_in(below);
    processes.insert(processes.end(), more.begin(), more.end());
  }
  return processes;
}

void remove_cgroup(const fs::path& cgroup) {
  if (::rmdir(cgroup.c_str()) == 0) return;
  for (const fs::path& below : folders_in(cgroup)) {
    remove_cgroup(below);
  }
  ::rmdir(cgroup.c_str());
}

}  // namespace rankrun::agent
