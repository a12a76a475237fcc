// SPDX-License-Identifier: Apache-2.0
// The small text files in which the kernel tells of itself: below /proc, /sys and in cgroups.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace rankrun::agent {

/// The whole file without white space around it; nothing when it cannot be read.
std::optional<std::string> read_kernel_file(const std::filesystem::path& path);

/// Writes into such a file, which must exist; false when it cannot be.
bool write_kernel_file(const std::filesystem::path& path, std::string_view text);

/// A whole number and nothing else.
std::optional<int> parse_number(std::string_view text);

/// The same from 0 up, however large.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// "0-3,8" is 0, 1, 2, 3 and 8; "" is none.
std::optional<std::set<int>> parse_cpu_list(std::string_view text);

}  // namespace rankrun::agent
