// SPDX-License-Identifier: Apache-2.0
// What this test program has allocated by operator new so far. For single-threaded programs.
#pragma once

#include <cstddef>

namespace rankrun::store::test {

std::size_t allocated_bytes();

}  // namespace rankrun::store::test
