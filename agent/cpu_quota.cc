// SPDX-License-Identifier: Apache-2.0
#include "agent/cpu_quota.h"

#include "agent/cgroup_paths.h"
#include "agent/kernel_files.h"
#include "store/base/text.h"

#include <algorithm>
#include <string>
#include <vector>

namespace rankrun::agent {

namespace fs = std::filesystem;
using base::split;

namespace {

std::optional<double> limit_of(const fs::path& cgroup, CgroupVersion version) {
  const auto text = [&cgroup](const char* file) {
    return read_kernel_file(cgroup / file).value_or("");
  };
  return version == CgroupVersion::v2
             ? parse_cpu_max(text("cpu.max"))
             : parse_cfs_quota(text("cpu.cfs_quota_us"), text("cpu.cfs_period_us"));
}

std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// The smallest limit from the top of the mount down to our cgroup.
std::optional<double> limit_in(const OwnCgroup& own, CgroupVersion version) {
  fs::path cgroup = own.top;
  std::optional<double> limit = limit_of(cgroup, version);
  for (const fs::path& part : own.below) {
    cgroup /= part;
    limit = smaller(limit, limit_of(cgroup, version));
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
  std::optional<double> quota;
  for (const auto version : {CgroupVersion::v1, CgroupVersion::v2}) {
    for (const OwnCgroup& own : own_cgroups(version, "cpu", root)) {
      quota = smaller(quota, limit_in(own, version));
    }
  }
  return quota;
}

}  // namespace rankrun::agent
