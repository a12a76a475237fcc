// SPDX-License-Identifier: Apache-2.0
#include "agent/timer_request.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace rankrun::agent {

using Json = nlohmann::json;
using tl::unexpected;

namespace {

constexpr std::int64_t kVersion = 1;

template <typename Type>
const Type* value_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->template get_ptr<const Type*>();
}

// A number of either kind. NaN and infinity are no JSON, nor is a number too large for a double.
std::optional<double> seconds_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// The signal as the line has it; 0 when that is no whole number of this size.
int signal_in(const Json& object) {
  if (!object.contains("signal")) return SIGKILL;
  const auto* signal = value_in<Json::number_integer_t>(object, "signal");
  return signal != nullptr && *signal > 0 && *signal <= SIGRTMAX ? static_cast<int>(*signal) : 0;
}

}  // namespace

std::string_view describe(TimerFault fault) {
  switch (fault) {
    case TimerFault::too_long:
      return "it is longer than PIPE_BUF";
    case TimerFault::no_json:
      return "it is not JSON";
    case TimerFault::wrong_form:
      return "it lacks a key of version 1, or one has the wrong type";
    case TimerFault::no_signal:
      return "its signal does not exist";
    case TimerFault::foreign_process:
      return "its process belongs to no worker, or has ended";
    case TimerFault::too_many:
      break;
  }
  return "there are too many timers";
}

ParsedTimer parse_timer_request(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (object.is_discarded()) return unexpected(TimerFault::no_json);
  const auto* version = value_in<Json::number_integer_t>(object, "version");
  const auto* pid = value_in<Json::number_integer_t>(object, "pid");
  const auto* scope = value_in<Json::string_t>(object, "scope_id");
  const auto expires = seconds_in(object, "expiration_time");
  if (version == nullptr || *version != kVersion || scope == nullptr || !expires ||  //
      pid == nullptr || *pid <= 0 || *pid > std::numeric_limits<pid_t>::max()) {
    return unexpected(TimerFault::wrong_form);
  }
  TimerRequest request{.pid = static_cast<pid_t>(*pid), .scope = *scope, .expires = {}};
  if (*expires < 0) return request;  // its signal, which is 0 from PyTorch, does not matter
  request.expires = expires;
  request.signal = signal_in(object);
  if (request.signal == 0) return unexpected(TimerFault::no_signal);
  return request;
}

std::vector<ParsedTimer> TimerLines::add(std::string_view bytes) {
  std::vector<ParsedTimer> requests;
  for (;;) {
    const auto end = bytes.find('\n');
    hold(bytes.substr(0, end));
    if (end == std::string_view::npos) return requests;
    if (too_long_) requests.emplace_back(unexpected(TimerFault::too_long));
    if (!rest_.empty()) requests.push_back(parse_timer_request(rest_));
    clear();
    bytes.remove_prefix(end + 1);
  }
}

void TimerLines::clear() {
  rest_.clear();
  too_long_ = false;
}

void TimerLines::hold(std::string_view piece) {
  too_long_ = too_long_ || rest_.size() + piece.size() >= kLongestLine;
  if (too_long_) {
    rest_.clear();
  } else {
    rest_ += piece;
  }
}

}  // namespace rankrun::agent
