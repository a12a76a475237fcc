// SPDX-License-Identifier: Apache-2.0
#include "agent/memory_cgroup.h"

#include "agent/kernel_files.h"
#include "store/base/text.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace rankrun::agent {

namespace fs = std::filesystem;

namespace {

std::optional<std::uint64_t> read_count(const fs::path& file) {
  const auto text = read_kernel_file(file);
  return text ? parse_count(*text) : std::nullopt;
}

const char* limit_file(CgroupVersion version) {
  return version == CgroupVersion::v2 ? "memory.max" : "memory.limit_in_bytes";
}

// Version 2 says "max" where there is no limit, version 1 the largest number of whole pages.
std::optional<std::uint64_t> parse_limit(const std::string& text) {
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;
  const auto limit = parse_count(text);
  return limit && *limit < kNoLimit ? limit : std::nullopt;
}

}  // namespace

std::optional<MemoryCgroup> own_memory_cgroup(const fs::path& root) {
  for (const auto version : {CgroupVersion::v1, CgroupVersion::v2}) {
    for (const OwnCgroup& own : own_cgroups(version, "memory", root)) {
      // Version 2 counts only where a parent asked for it: the next cgroup upwards speaks for us.
      for (fs::path below = own.below;; below = below.parent_path()) {
        MemoryCgroup cgroup{version, below.empty() ? own.top : own.top / below};
        if (memory_kills(cgroup)) return cgroup;
        if (below.empty()) break;
      }
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> memory_kills(const MemoryCgroup& cgroup) {
  const char* file = cgroup.version == CgroupVersion::v2 ? "memory.events" : "memory.oom_control";
  const std::string text = read_kernel_file(cgroup.path / file).value_or("");
  constexpr std::string_view kField = "oom_kill ";
  for (const std::string_view line : base::split(text, '\n')) {
    if (line.starts_with(kField)) return parse_count(line.substr(kField.size()));
  }
  return std::nullopt;
}

OutOfMemory memory_facts(const MemoryCgroup& cgroup) {
  OutOfMemory facts;
  // Up to the top, which has no such file or no limit.
  const char* const file = limit_file(cgroup.version);
  fs::path path = cgroup.path;
  for (auto text = read_kernel_file(path / file); text; text = read_kernel_file(path / file)) {
    const auto limit = parse_limit(*text);
    if (limit) facts.limit = std::min(*limit, facts.limit.value_or(*limit));
    path = path.parent_path();
  }
  const bool is_v2 = cgroup.version == CgroupVersion::v2;
  facts.peak = read_count(cgroup.path / (is_v2 ? "memory.peak" : "memory.max_usage_in_bytes"));
  return facts;
}

}  // namespace rankrun::agent
