// SPDX-License-Identifier: Apache-2.0
#include "store/base/log.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace rankrun::base {

Logger make_logger(const std::string& program,
                   spdlog::level::level_enum level,
                   spdlog::sink_ptr sink) {
  auto logger = std::make_shared<spdlog::logger>(program, std::move(sink));
  logger->set_pattern("%n: %l: %v");
  logger->set_level(level);
  return logger;
}

Result<spdlog::level::level_enum> parse_log_level(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::toupper(c));
  });
  if (name == "DEBUG" || name == "NOTSET") return spdlog::level::debug;
  if (name == "INFO") return spdlog::level::info;
  if (name == "WARNING" || name == "WARN") return spdlog::level::warn;
  if (name == "ERROR") return spdlog::level::err;
  if (name == "CRITICAL" || name == "FATAL") return spdlog::level::critical;
  return failure(errc::invalid_value,
                 "LOGLEVEL=" + std::string(text),
                 "use DEBUG, INFO, WARNING, ERROR or CRITICAL");
}

}  // namespace rankrun::base
