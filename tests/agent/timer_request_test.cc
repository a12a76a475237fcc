// SPDX-License-Identifier: Apache-2.0
#include "agent/timer_request.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <set>
#include <string>

namespace rankrun::agent {
namespace {

// As PyTorch writes them.
const std::string set_line =
    R"({"version": 1, "pid": 4242, "scope_id": "epoch", "expiration_time": 1795995848.25, "signal": 9})";
const std::string release_line =
    R"({"version": 1, "pid": 4242, "scope_id": "epoch", "expiration_time": -1, "signal": 0})";

TimerRequest request(std::optional<double> expires, int signal) {
  return {.pid = 4242, .scope = "epoch", .expires = expires, .signal = signal};
}

// A line of version 1 with one value replaced.
std::string line_with(const std::string& key, const std::string& value) {
  const auto of = [&](const std::string& name, const std::string& usual) {
    return name == key ? value : usual;
  };
  return fmt::format(R"({{"version":{},"pid":{},"scope_id":{},"expiration_time":{},"signal":{}}})",
                     of("version", "1"),
                     of("pid", "4242"),
                     of("scope_id", "\"epoch\""),
                     of("expiration_time", "2.5"),
                     of("signal", "15"));
}

TEST_CASE("what PyTorch writes sets a timer and takes it back", "[agent][timer]") {
  CHECK(parse_timer_request(set_line) == request(1795995848.25, SIGKILL));
  CHECK(parse_timer_request(release_line) == request(std::nullopt, SIGKILL));
}

TEST_CASE("a timer without a signal is for SIGKILL, and further keys do not matter",
          "[agent][timer]") {
  CHECK(parse_timer_request(
            R"({"pid":4242,"version":1,"expiration_time":0,"scope_id":"epoch","more":[{}]})") ==
        request(0, SIGKILL));
}

TEST_CASE("every signal that exists can be asked for", "[agent][timer]") {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    CHECK(parse_timer_request(line_with("signal", std::to_string(signal))) == request(2.5, signal));
  }
  for (const char* wrong : {"0", "-9", "65", "1000000000000", "9.0", "\"9\"", "null", "true"}) {
    INFO(wrong);
    const auto parsed = parse_timer_request(line_with("signal", wrong));
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error() == TimerFault::no_signal);
  }
}

TEST_CASE("a wrong value or type sets no timer", "[agent][timer]") {
  const auto [key, value] = GENERATE(table<std::string, std::string>({
      {"version", "2"},
      {"version", "1.0"},
      {"version", "\"1\""},
      {"version", "true"},
      {"pid", "0"},
      {"pid", "-4242"},
      {"pid", "4294971538"},            // 2^32 + 4242
      {"pid", "18446744073709551615"},  // -1 if its bits were taken for it
      {"pid", "4242.0"},
      {"pid", "null"},
      {"scope_id", "7"},
      {"scope_id", "null"},
      {"scope_id", "[\"epoch\"]"},
      {"expiration_time", "\"2.5\""},
      {"expiration_time", "null"},
      {"expiration_time", "false"},
  }));
  INFO(key << ": " << value);
  const auto parsed = parse_timer_request(line_with(key, value));
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error() == TimerFault::wrong_form);
}

TEST_CASE("what is no number in JSON is no time", "[agent][timer]") {
  for (const char* value : {"NaN", "Infinity", "-Infinity", "1e999"}) {
    INFO(value);
    const auto parsed = parse_timer_request(line_with("expiration_time", value));
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error() == TimerFault::no_json);
  }
}

TEST_CASE("JSON of another form sets no timer", "[agent][timer]") {
  for (const char* line : {"1", "[]", "{}", "null", "\"epoch\"", R"({"version":1})"}) {
    INFO(line);
    const auto parsed = parse_timer_request(line);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error() == TimerFault::wrong_form);
  }
}

TEST_CASE("no start of a line is a line", "[agent][timer]") {
  for (std::size_t size = 0; size < set_line.size(); ++size) {
    INFO(set_line.substr(0, size));
    const auto parsed = parse_timer_request(std::string_view(set_line).substr(0, size));
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error() == TimerFault::no_json);
  }
}

TEST_CASE("bytes that are no text, and deep nesting, are no JSON of ours", "[agent][timer]") {
  CHECK_FALSE(parse_timer_request(line_with("scope_id", "\"\xff\"")));
  CHECK_FALSE(parse_timer_request(std::string("\0\0\0", 3)));
  CHECK_FALSE(parse_timer_request(std::string(TimerLines::kLongestLine, '[')));
}

TEST_CASE("a line may come in any two pieces", "[agent][timer]") {
  const std::string text = set_line + "\n" + release_line + "\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    TimerLines lines;
    auto requests = lines.add(std::string_view(text).substr(0, size));
    for (const ParsedTimer& more : lines.add(std::string_view(text).substr(size))) {
      requests.push_back(more);
    }
    INFO("cut after " << size << " bytes");
    REQUIRE(requests.size() == 2);
    CHECK(requests[0] == request(1795995848.25, SIGKILL));
    CHECK(requests[1] == request(std::nullopt, SIGKILL));
  }
}

TEST_CASE("lines of up to PIPE_BUF bytes are read, a longer one is skipped to its end",
          "[agent][timer]") {
  const std::string frame = line_with("scope_id", "\"\"");
  const std::size_t room = TimerLines::kLongestLine - 1 - frame.size();
  const std::string longest = line_with("scope_id", "\"" + std::string(room, 'x') + "\"");
  const std::string too_long = line_with("scope_id", "\"" + std::string(room + 1, 'x') + "\"");
  TimerLines lines;
  CHECK(lines.add(too_long).empty());
  const auto requests = lines.add("\n" + longest + "\n" + set_line + "\n");
  REQUIRE(requests.size() == 3);
  REQUIRE_FALSE(requests[0]);
  CHECK(requests[0].error() == TimerFault::too_long);
  REQUIRE(requests[1]);
  CHECK(requests[1]->scope.size() == room);
  CHECK(requests[2] == request(1795995848.25, SIGKILL));
}

TEST_CASE("a line without an end is one fault, however long it grows", "[agent][timer]") {
  TimerLines lines;
  for (int i = 0; i < 100; ++i) {
    CHECK(lines.add(std::string(10000, 'x')).empty());
  }
  const auto requests = lines.add("\n" + set_line + "\n");
  REQUIRE(requests.size() == 2);
  CHECK_FALSE(requests[0]);
  CHECK(requests[1]);
}

TEST_CASE("a forgotten start of a line does not spoil the next one", "[agent][timer]") {
  TimerLines lines;
  CHECK(lines.add("{\"version\"").empty());
  lines.clear();
  CHECK(lines.add("\n\n" + set_line + "\n").front() == request(1795995848.25, SIGKILL));
}

TEST_CASE("every fault has words of its own", "[agent][timer]") {
  std::set<std::string_view> texts;
  for (std::size_t fault = 0; fault < kTimerFaults; ++fault) {
    texts.insert(describe(static_cast<TimerFault>(fault)));
  }
  CHECK(texts.size() == kTimerFaults);
}

}  // namespace
}  // namespace rankrun::agent
