// SPDX-License-Identifier: Apache-2.0
// Pure: the option table as text for people.
#pragma once

#include <string>
#include <string_view>

namespace rankrun::launch {

/// What --help prints.
std::string help_text();

/// The manual page rankrun(1), in roff.
std::string manual_page(std::string_view version);

}  // namespace rankrun::launch
