// SPDX-License-Identifier: Apache-2.0
// Pure: what the loader says a program loads, as `ldd` prints it.
#pragma once

#include <string>
#include <vector>

namespace rankrun::bench {

/// The names of the dynamic libraries beyond libc, libm and the loader. `trace` is what a program
/// prints when it is started with LD_TRACE_LOADED_OBJECTS=1.
std::vector<std::string> further_libraries(const std::string& trace);

}  // namespace rankrun::bench
