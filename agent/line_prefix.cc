// SPDX-License-Identifier: Apache-2.0
#include "agent/line_prefix.h"

#include "agent/text_template.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

namespace rankrun::agent {

namespace {

// HH:MM:SS.mmm, local time.
std::string clock_text(WallTime now) {
  const auto since_epoch = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  const std::time_t time = seconds.count();
  std::tm parts{};
  ::localtime_r(&time, &parts);
  std::array<char, 16> text{};
  std::snprintf(text.data(),
                text.size(),
                "%02d:%02d:%02d.%03d",
                parts.tm_hour % 24,
                parts.tm_min % 60,
                parts.tm_sec % 61,
                static_cast<int>((since_epoch - seconds).count()));
  return text.data();
}

}  // namespace

LinePrefix::LinePrefix(std::string text, PrefixValues values)
    : template_(std::move(text)), values_(std::move(values)), text_(expand({})) {}

std::string_view LinePrefix::at(WallTime now) {
  if (has_time_) text_ = expand(now);
  return text_;
}

std::string LinePrefix::expand(WallTime now) {
  return substitute(template_, [&](std::string_view name) -> std::optional<std::string> {
    if (name == "role_name") return values_.role_name;
    if (name == "local_rank") return std::to_string(values_.local_rank);
    if (name == "rank") return std::to_string(values_.rank);
    if (name == "hostname" || name == "host") return values_.host;
    if (name != "time") return std::nullopt;
    has_time_ = true;
    return clock_text(now);
  });
}

}  // namespace rankrun::agent
