// SPDX-License-Identifier: Apache-2.0
// Pure: the `$name` templates that torchrun has for arguments and line prefixes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace rankrun::agent {

/// What a name stands for; nothing: it stays as typed.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

/// Replaces `$name` and `${name}`, and `$$` by `$`. A dollar sign that begins none of these stays.
std::string substitute(std::string_view text, const Lookup& value_of);

}  // namespace rankrun::agent
