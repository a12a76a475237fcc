// SPDX-License-Identifier: Apache-2.0
// A logger whose lines a test reads.
#pragma once

#include "store/base/log.h"

#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <sstream>
#include <string>

namespace rankrun::tests {

class RecordedLog {
 public:
  const base::Logger& log() const { return log_; }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  base::Logger log_ = base::make_logger(
      "rankrun", spdlog::level::warn, std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
};

}  // namespace rankrun::tests
