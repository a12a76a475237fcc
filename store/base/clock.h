// SPDX-License-Identifier: Apache-2.0
// The clock all limits are measured on. Decisions take `now` as an argument; only moving parts read
// the clock.
#pragma once

#include <chrono>

namespace rankrun::base {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = Clock::duration;

/// For people to read, never for limits.
using WallTime = std::chrono::system_clock::time_point;

}  // namespace rankrun::base
