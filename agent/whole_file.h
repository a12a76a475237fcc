// SPDX-License-Identifier: Apache-2.0
// Files that others see whole or not at all.
#pragma once

#include "store/base/result.h"

#include <string>
#include <string_view>

namespace rankrun::agent {

/// Puts `text` under this name, in one step where nothing or a regular file is there. Into anything
/// else (a link, a device, a pipe), and where the folder or a mount forbids that, it is written as
/// a shell's `>` does, but never waited for a reader.
base::Result<void> write_whole_file(const std::string& path, std::string_view text);

}  // namespace rankrun::agent
