// SPDX-License-Identifier: Apache-2.0
#include "agent/restart_policy.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <utility>
#include <vector>

namespace rankrun::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

FirstCause exited(int rank, int code, std::string exception = {}) {
  return {rank, ExitStatus::exited(code), std::move(exception)};
}

TEST_CASE("the delay doubles while attempts are short, up to sixteen times", "[agent][restart]") {
  RestartDelay delay(seconds(2));
  std::vector<base::Duration> delays;
  delays.reserve(7);
  for (int i = 0; i < 7; ++i) {
    delays.push_back(delay.after(milliseconds(19999)));
  }
  CHECK(
      delays ==
      std::vector<base::Duration>{
          seconds(2), seconds(4), seconds(8), seconds(16), seconds(32), seconds(32), seconds(32)});
  CHECK(delay.after(seconds(20)) == seconds(2));  // a long attempt
  CHECK(delay.after(seconds(1)) == seconds(2));
  CHECK(delay.after(seconds(1)) == seconds(4));
}

TEST_CASE("without a delay there is none", "[agent][restart]") {
  RestartDelay delay(base::Duration::zero());
  CHECK(delay.after(base::Duration::zero()) == base::Duration::zero());
  CHECK(delay.after(base::Duration::zero()) == base::Duration::zero());
}

TEST_CASE("causes are alike by exception, else by rank and status", "[agent][restart]") {
  CHECK(exited(1, 3).is_like(exited(1, 3)));
  CHECK_FALSE(exited(1, 3).is_like(exited(2, 3)));
  CHECK_FALSE(exited(1, 3).is_like(exited(1, 4)));
  CHECK_FALSE(exited(1, 9).is_like({1, ExitStatus::signaled(SIGKILL, false), {}}));
  CHECK(exited(1, 1, "ValueError: x").is_like(exited(2, 1, "ValueError: x")));
  CHECK_FALSE(exited(1, 1, "ValueError: x").is_like(exited(1, 1, "ValueError: y")));
  CHECK_FALSE(exited(1, 1, "ValueError: x").is_like(exited(1, 1)));
}

TEST_CASE("the same failure in a row reaches the limit", "[agent][restart]") {
  SameFailures failures(3);
  failures.add(exited(1, 3), seconds(1));
  failures.add(exited(1, 3), seconds(1));
  CHECK(failures.limit_reached() == 0);
  SECTION("with the next of its kind") {
    failures.add(exited(1, 3), seconds(1));
    CHECK(failures.limit_reached() == 3);
  }
  SECTION("not with another") {
    failures.add(exited(2, 3), seconds(1));
    CHECK(failures.limit_reached() == 0);
    failures.add(exited(2, 3), seconds(1));
    failures.add(exited(2, 3), seconds(1));
    CHECK(failures.limit_reached() == 3);
  }
  SECTION("not with one that came late") {
    failures.add(exited(1, 3), seconds(10));
    failures.add(exited(1, 3), seconds(1));
    CHECK(failures.limit_reached() == 0);
  }
  SECTION("not when something else came between") {
    failures.reset();
    failures.add(exited(1, 3), seconds(1));
    CHECK(failures.limit_reached() == 0);
  }
}

TEST_CASE("without a limit failures may go on", "[agent][restart]") {
  SameFailures failures(0);
  for (int i = 0; i < 100; ++i) {
    failures.add(exited(0, 1), base::Duration::zero());
  }
  CHECK(failures.limit_reached() == 0);
}

}  // namespace
}  // namespace rankrun::agent
