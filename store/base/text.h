// SPDX-License-Identifier: Apache-2.0
// Text from outside on its way to a person.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rankrun::base {

/// Control characters but tab, and bytes that are no UTF-8, as `\xNN`, so that the text stays one
/// line and moves no cursor; all else as it is.
std::string escape_control(std::string_view text);

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);

/// The parts between the separators: one more than there are separators, empty ones included.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace rankrun::base
