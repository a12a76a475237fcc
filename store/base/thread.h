// SPDX-License-Identifier: Apache-2.0
// Threads beside the one that reads signals.
#pragma once

#include "store/base/result.h"

#include <functional>
#include <thread>

namespace rankrun::base {

/// A thread that blocks every signal, so that these reach the thread which reads them. `name` has
/// at most 15 bytes. Fails with the system's code, without context.
Result<std::jthread> start_thread(const char* name, std::function<void()> body);

}  // namespace rankrun::base
