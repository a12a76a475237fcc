// SPDX-License-Identifier: Apache-2.0
// Loggers are values handed in by constructor; there is no global one.
#pragma once

#include "store/base/result.h"

#include <spdlog/logger.h>

#include <memory>
#include <string>
#include <string_view>

namespace rankrun::base {

using Logger = std::shared_ptr<spdlog::logger>;

/// A logger that hands `sink` one line per message, "rankrun: warning: text". As thread-safe as the
/// sink. `level` is the least level that is shown.
Logger make_logger(const std::string& program,
                   spdlog::level::level_enum level,
                   spdlog::sink_ptr sink);

/// Level by the names that Python's logging and LOGLEVEL use (DEBUG, INFO, WARNING, ERROR,
/// CRITICAL, any case). Fails with errc::invalid_value.
Result<spdlog::level::level_enum> parse_log_level(std::string_view text);

}  // namespace rankrun::base
