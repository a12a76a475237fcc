// SPDX-License-Identifier: Apache-2.0
#include "agent/cgroup_paths.h"

#include "agent/kernel_files.h"
#include "store/base/text.h"

#include <algorithm>
#include <string>

namespace rankrun::agent {

namespace fs = std::filesystem;
using base::split;

namespace {

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A hierarchy of cgroups is named by what it controls: version 1 has one per controller or group of
// them, version 2 a single one, whatever is asked about.
struct Hierarchy {
  CgroupVersion version;
  std::string_view controller;

  bool has(CgroupVersion its_version, std::string_view its_controllers) const {
    if (version != its_version) return false;
    return version == CgroupVersion::v2 || contains(split(its_controllers, ','), controller);
  }
};

// A mounted part of it.
struct Mount {
  std::string root;  // the cgroup that shows at `point`
  std::string point;
};

// The path of our cgroup in a line of /proc/self/cgroup, "4:cpu,cpuacct:/path" or "0::/path", if it
// is in this hierarchy.
std::optional<std::string> own_path(std::string_view line, const Hierarchy& hierarchy) {
  const auto first = line.find(':');
  const auto second = line.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const auto version = line.starts_with("0::") ? CgroupVersion::v2 : CgroupVersion::v1;
  if (!hierarchy.has(version, controllers)) return std::nullopt;
  return std::string(line.substr(second + 1));
}

std::optional<std::string> own_path_in(std::string_view cgroup_file, const Hierarchy& hierarchy) {
  for (const std::string_view line : split(cgroup_file, '\n')) {
    if (auto path = own_path(line, hierarchy)) return path;
  }
  return std::nullopt;
}

// mountinfo writes spaces and their like as "\040".
std::string unescape(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  while (!text.empty()) {
    const bool is_escape = text.size() >= 4 && text[0] == '\\' &&
                           std::all_of(text.begin() + 1, text.begin() + 4, is_octal);
    if (is_escape) {
      plain += static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
    } else {
      plain += text[0];
    }
    text.remove_prefix(is_escape ? 4 : 1);
  }
  return plain;
}

// A line of mountinfo: "32 31 0:29 ROOT POINT options ... - TYPE source OPTIONS".
std::optional<Mount> parse_mount(std::string_view line, const Hierarchy& hierarchy) {
  const auto words = split(line, ' ');
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (dash - words.begin() < 6 || words.end() - dash < 4) return std::nullopt;
  const std::string_view type = dash[1];
  if (type != "cgroup" && type != "cgroup2") return std::nullopt;
  const auto version = type == "cgroup2" ? CgroupVersion::v2 : CgroupVersion::v1;
  if (!hierarchy.has(version, dash[3])) return std::nullopt;
  return Mount{unescape(words[3]), unescape(words[4])};
}

std::vector<Mount> parse_mounts(std::string_view mountinfo, const Hierarchy& hierarchy) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(mountinfo, '\n')) {
    if (auto mount = parse_mount(line, hierarchy)) mounts.push_back(*std::move(mount));
  }
  return mounts;
}

// `path` as seen from `folder`, "" or "a/b"; nothing when it is not below.
std::optional<std::string> path_below(std::string_view path, std::string_view folder) {
  if (folder != "/") {
    if (!path.starts_with(folder)) return std::nullopt;
    path.remove_prefix(folder.size());
  }
  if (!path.empty() && path.front() != '/') return std::nullopt;
  return std::string(path.substr(path.empty() ? 0 : 1));
}

}  // namespace

std::vector<OwnCgroup> own_cgroups(CgroupVersion version,
                                   std::string_view controller,
                                   const fs::path& root) {
  const Hierarchy hierarchy{version, controller};
  const auto path =
      own_path_in(read_kernel_file(root / "proc/self/cgroup").value_or(""), hierarchy);
  if (!path) return {};
  const std::string mountinfo = read_kernel_file(root / "proc/self/mountinfo").value_or("");
  std::vector<OwnCgroup> shown;
  std::vector<OwnCgroup> tops;
  for (const Mount& mount : parse_mounts(mountinfo, hierarchy)) {
    const fs::path top = root / fs::path(mount.point).relative_path();
    if (const auto below = path_below(*path, mount.root)) shown.push_back({top, *below, true});
    tops.push_back({top, {}, false});
  }
  return shown.empty() ? tops : shown;
}

}  // namespace rankrun::agent
