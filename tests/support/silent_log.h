// SPDX-License-Identifier: Apache-2.0
// A logger for tests whose log nobody reads.
#pragma once

#include "store/base/log.h"

#include <spdlog/sinks/null_sink.h>

namespace rankrun::tests {

inline base::Logger silent_log() {
  return std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
}

}  // namespace rankrun::tests
