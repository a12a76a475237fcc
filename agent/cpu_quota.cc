// SPDX-License-Identifier: Apache-2.0
#include "agent/cpu_quota.h"

#include "agent/kernel_files.h"
#include "store/base/text.h"

#include <algorithm>
#include <string>
#include <vector>

namespace rankrun::agent {

namespace fs = std::filesystem;
using base::split;

namespace {

enum class Version { v1, v2 };

// A mounted hierarchy of cgroups that may limit CPU time.
struct Mount {
  Version version;
  std::string root;  // the cgroup that shows at `point`
  std::string point;
};

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The path of our cgroup in a line of /proc/self/cgroup, "4:cpu,cpuacct:/path" or "0::/path", if it
// is the one of this version that may limit CPU time.
std::optional<std::string> own_cgroup(std::string_view line, Version version) {
  const auto first = line.find(':');
  const auto second = line.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const bool matches =
      version == Version::v2 ? line.starts_with("0::") : contains(split(controllers, ','), "cpu");
  return matches ? std::optional<std::string>(line.substr(second + 1)) : std::nullopt;
}

std::optional<std::string> own_cgroup_in(std::string_view cgroup_file, Version version) {
  for (const std::string_view line : split(cgroup_file, '\n')) {
    if (auto path = own_cgroup(line, version)) return path;
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
std::optional<Mount> parse_mount(std::string_view line) {
  const auto words = split(line, ' ');
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (dash - words.begin() < 6 || words.end() - dash < 4) return std::nullopt;
  const Mount mount{Version::v1, unescape(words[3]), unescape(words[4])};
  if (dash[1] == "cgroup2") return Mount{Version::v2, mount.root, mount.point};
  if (dash[1] == "cgroup" && contains(split(dash[3], ','), "cpu")) return mount;
  return std::nullopt;
}

std::vector<Mount> parse_mounts(std::string_view mountinfo, Version version) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(mountinfo, '\n')) {
    auto mount = parse_mount(line);
    if (mount && mount->version == version) mounts.push_back(*std::move(mount));
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

std::optional<double> limit_of(const fs::path& cgroup, Version version) {
  const auto text = [&cgroup](const char* file) {
    return read_kernel_file(cgroup / file).value_or("");
  };
  return version == Version::v2
             ? parse_cpu_max(text("cpu.max"))
             : parse_cfs_quota(text("cpu.cfs_quota_us"), text("cpu.cfs_period_us"));
}

std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// The smallest limit from the top of the mount down to `path`, which is relative.
std::optional<double> limit_in(const fs::path& root, const Mount& mount, const fs::path& path) {
  fs::path cgroup = root / fs::path(mount.point).relative_path();
  std::optional<double> limit = limit_of(cgroup, mount.version);
  for (const fs::path& part : path) {
    cgroup /= part;
    limit = smaller(limit, limit_of(cgroup, mount.version));
  }
  return limit;
}

// `path` is our cgroup. Where no mount shows it, as in some containers, the limits at the top of
// what is mounted are ours.
std::optional<double> limit_of_all(const fs::path& root,
                                   const std::vector<Mount>& mounts,
                                   const std::string& path) {
  const bool is_shown = std::any_of(mounts.begin(), mounts.end(), [&path](const Mount& mount) {
    return path_below(path, mount.root).has_value();
  });
  std::optional<double> limit;
  for (const Mount& mount : mounts) {
    const auto below = path_below(path, mount.root);
    if (below || !is_shown) limit = smaller(limit, limit_in(root, mount, below.value_or("")));
  }
  return limit;
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) {
  const auto words = split(text, ' ');
  if (words.size() != 2) return std::nullopt;
  return parse_cfs_quota(words[0], words[1]);  // "max" is not a number
}

std::optional<double> parse_cfs_quota(std::string_view quota, std::string_view period) {
  const auto quota_us = parse_number(quota);
  const auto period_us = parse_number(period);
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return std::nullopt;
  return static_cast<double>(*quota_us) / *period_us;
}

std::optional<double> cpu_quota(const fs::path& root) {
  const std::string cgroups = read_kernel_file(root / "proc/self/cgroup").value_or("");
  const std::string mounts = read_kernel_file(root / "proc/self/mountinfo").value_or("");
  std::optional<double> quota;
  for (const Version version : {Version::v1, Version::v2}) {
    const auto path = own_cgroup_in(cgroups, version);
    if (path) quota = smaller(quota, limit_of_all(root, parse_mounts(mounts, version), *path));
  }
  return quota;
}

}  // namespace rankrun::agent
