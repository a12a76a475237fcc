// SPDX-License-Identifier: Apache-2.0
// Pure: the option table as completion scripts of shells.
#pragma once

#include <string>

namespace rankrun::launch {

/// For bash 4 and later, as in `source <(rankrun --print-completion bash)`.
std::string bash_completion();

/// For zsh, to source or to keep as `_rankrun` in a folder of $fpath.
std::string zsh_completion();

}  // namespace rankrun::launch
