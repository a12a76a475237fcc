// SPDX-License-Identifier: Apache-2.0
// Pure: cuts text from outside to a size, at borders of characters and lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::agent {

/// At most the first `limit` bytes; marks a cut by "...".
std::string start_of(std::string_view text, std::size_t limit);

/// At most the last `limit` bytes, from the start of a line where there is one.
std::string last_lines_of(std::string_view text, std::size_t limit);

/// The lines with control characters escaped, for a person: the last ones that fit into `limit`
/// bytes, with "..." before them when some do not.
std::vector<std::string> shown_lines(const std::vector<std::string>& lines, std::size_t limit);

/// Text as lines, without their ends; no empty one at the end.
std::vector<std::string> split_lines(std::string_view text);

}  // namespace rankrun::agent
