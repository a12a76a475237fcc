// SPDX-License-Identifier: Apache-2.0
#include "agent/memory_cgroup.h"

#include "agent/kernel_files.h"
#include "store/base/text.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace rankrun::agent {

namespace fs = std::filesystem;

namespace {

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> read_count(const fs::path& file) {
  const auto text = read_kernel_file(file);
  return text ? parse_count(*text) : std::nullopt;
}

// Version 2 says "max" where there is no limit, version 1 the largest number of whole pages.
std::optional<std::uint64_t> limit_of(const fs::path& cgroup, CgroupVersion version) {
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;
  const char* file = version == CgroupVersion::v2 ? "memory.max" : "memory.limit_in_bytes";
  const auto limit = read_count(cgroup / file);
  return limit && *limit < kNoLimit ? limit : std::nullopt;
}

}  // namespace

std::optional<MemoryCgroup> own_memory_cgroup(const fs::path& root) {
  for (const auto version : {CgroupVersion::v1, CgroupVersion::v2}) {
    for (const OwnCgroup& own : own_cgroups(version, "memory", root)) {
      // Version 2 counts only where a parent asked for it: the next cgroup upwards speaks for us.
      for (fs::path below = own.below;; below = below.parent_path()) {
        MemoryCgroup cgroup{version, own.top, below.empty() ? own.top : own.top / below};
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
  for (fs::path path = cgroup.path;; path = path.parent_path()) {
    const auto limit = limit_of(path, cgroup.version);
    if (limit) facts.limit = std::min(*limit, facts.limit.value_or(*limit));
    if (path == cgroup.top || path == path.parent_path()) break;
  }
  const bool is_v2 = cgroup.version == CgroupVersion::v2;
  facts.peak = read_count(cgroup.path / (is_v2 ? "memory.peak" : "memory.max_usage_in_bytes"));
  return facts;
}

}  // namespace rankrun::agent
