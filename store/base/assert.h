// SPDX-License-Identifier: Apache-2.0
// The one assertion of the project: always on, for broken invariants only. Input from the network,
// files or the environment is never an invariant.
#pragma once

namespace rankrun::base {

/// Prints the expression with its place to stderr and aborts.
/// (File and line as macros: clang 14 has no std::source_location with libstdc++ 12.)
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace rankrun::base

#define RANKRUN_ASSERT(expression)     \
  ((expression) ? static_cast<void>(0) \
                : ::rankrun::base::assertion_failed(#expression, __FILE__, __LINE__))
