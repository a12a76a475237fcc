// SPDX-License-Identifier: Apache-2.0
#include "agent/timer_table.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <string>
#include <vector>

namespace rankrun::agent {
namespace {

using std::chrono::seconds;

constexpr double kUnixNow = 1795995848.0;

// Both clocks, so long after the start of the test.
BothClocks after(base::Duration passed) {
  const auto wall = std::chrono::duration_cast<base::WallTime::duration>(passed);
  return {base::WallTime(seconds(static_cast<long>(kUnixNow))) + wall,
          base::TimePoint(seconds(1000)) + passed};
}

const BothClocks start_time = after(seconds(0));

TimerRequest in(double seconds_ahead, pid_t pid = 7, const std::string& scope = "epoch") {
  return {.pid = pid, .scope = scope, .expires = kUnixNow + seconds_ahead, .signal = SIGTERM};
}

ProcessEntry process(pid_t pid) {
  ProcessEntry entry;
  entry.pid = pid;
  entry.started = static_cast<std::uint64_t>(pid) * 100;
  return entry;
}

void set(TimerTable& timers, const TimerRequest& request, BothClocks now = start_time) {
  REQUIRE(timers.set(request, process(request.pid), now));
}

std::vector<pid_t> expired(TimerTable& timers, base::Duration passed) {
  std::vector<pid_t> pids;
  for (const Timer& timer : timers.take_expired(after(passed).steady)) {
    pids.push_back(timer.pid);
  }
  return pids;
}

TEST_CASE("a timer expires once, at its time", "[agent][timer]") {
  TimerTable timers;
  CHECK_FALSE(timers.next_expiry());
  set(timers, in(5));
  CHECK(timers.next_expiry() == after(seconds(5)).steady);
  CHECK(expired(timers, seconds(4)).empty());
  const auto timer = timers.take_expired(after(seconds(5)).steady);
  CHECK(timer == std::vector{Timer{7, "epoch", 700, SIGTERM}});
  CHECK_FALSE(timers.next_expiry());
  CHECK(expired(timers, seconds(6)).empty());
}

TEST_CASE("timers expire in the order of their times", "[agent][timer]") {
  TimerTable timers;
  set(timers, in(3, 1));
  set(timers, in(1, 2));
  set(timers, in(2, 3));
  CHECK(timers.next_expiry() == after(seconds(1)).steady);
  CHECK(expired(timers, seconds(2)) == std::vector<pid_t>{2, 3});
  CHECK(timers.next_expiry() == after(seconds(3)).steady);
}

TEST_CASE("a timer that is taken back does not expire", "[agent][timer]") {
  TimerTable timers;
  set(timers, in(5));
  set(timers, in(5, 7, "step"));
  timers.release(in(0));
  timers.release(in(0, 8));  // never set
  CHECK(timers.size() == 1);
  CHECK(timers.take_expired(after(seconds(5)).steady).front().scope == "step");
}

TEST_CASE("a process and scope have one timer, the last that was set", "[agent][timer]") {
  TimerTable timers;
  set(timers, in(5));
  set(timers, in(9));
  CHECK(timers.size() == 1);
  CHECK(expired(timers, seconds(5)).empty());
  CHECK(expired(timers, seconds(9)) == std::vector<pid_t>{7});
}

TEST_CASE("a time that has passed expires at once", "[agent][timer]") {
  TimerTable timers;
  set(timers, in(-100));
  CHECK(timers.next_expiry() == start_time.steady);
  set(timers, {.pid = 8, .scope = "", .expires = 0.0, .signal = SIGKILL});
  CHECK(expired(timers, seconds(0)).size() == 2);
}

TEST_CASE("a jump of the wall's clock moves no timer that is set", "[agent][timer]") {
  TimerTable timers;
  set(timers, in(60));
  BothClocks after_jump = after(seconds(1));
  after_jump.wall += std::chrono::hours(24);
  TimerRequest other = in(24 * 3600 + 1 + 30, 8);
  set(timers, other, after_jump);  // set by the new time, half a minute ahead
  CHECK(expired(timers, seconds(30)).empty());
  CHECK(expired(timers, seconds(31)) == std::vector<pid_t>{8});
  CHECK(expired(timers, seconds(60)) == std::vector<pid_t>{7});
}

TEST_CASE("no time is too late for the clock", "[agent][timer]") {
  TimerTable timers;
  set(timers, in(1e300));
  REQUIRE(timers.next_expiry());
  CHECK(*timers.next_expiry() > after(std::chrono::hours(24 * 365)).steady);
}

TEST_CASE("timers are bounded, but those that are there can be set anew", "[agent][timer]") {
  TimerTable timers;
  for (std::size_t i = 0; i < TimerTable::kMostTimers; ++i) {
    set(timers, in(5, static_cast<pid_t>(i) + 1));
  }
  CHECK_FALSE(timers.set(in(5, 1, "one more"), process(1), start_time));
  CHECK(timers.set(in(6, 1), process(1), start_time));
  timers.release(in(0, 2));
  CHECK(timers.set(in(5, 1, "one more"), process(1), start_time));
  CHECK(timers.size() == TimerTable::kMostTimers);
}

TEST_CASE("a cleared table has nothing to wait for", "[agent][timer]") {
  TimerTable timers;
  set(timers, in(5));
  timers.clear();
  CHECK_FALSE(timers.next_expiry());
  CHECK(expired(timers, seconds(5)).empty());
}

}  // namespace
}  // namespace rankrun::agent
