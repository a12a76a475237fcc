// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/watch_options.h"

#include "tests/apps/launch_case.h"

namespace rankrun::launch {
namespace {

using base::Endpoint;
using Catch::Contains;

TEST_CASE("without its variables nothing is watched", "[launch][watch]") {
  const auto launch = config({}, {{"TORCHELASTIC_TIMER_FILE", "/run/timers"}});
  CHECK_FALSE(launch.timer_file);
  CHECK_FALSE(launch.health);
}

TEST_CASE("only 1 switches file timers on", "[launch][watch]") {
  for (const char* value : {"", "0", "true", "11"}) {
    CHECK_FALSE(config({}, {{"TORCHELASTIC_ENABLE_FILE_TIMER", value}}).timer_file);
  }
}

TEST_CASE("the timer file is the one that is named, else a new one in the temporary directory",
          "[launch][watch]") {
  agent::Environment env{{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"}};
  CHECK(config({}, env).timer_file == "/tmp/watchdog_timer_random");
  env["TMPDIR"] = "/scratch";
  env["TORCHELASTIC_TIMER_FILE"] = "";
  CHECK(config({}, env).timer_file == "/scratch/watchdog_timer_random");
  env["TORCHELASTIC_TIMER_FILE"] = "timers";
  CHECK(config({}, env).timer_file == "timers");
}

TEST_CASE("the health check is on every interface, or on the address that is named",
          "[launch][watch]") {
  const auto health = [](const std::string& value) {
    return config({}, {{"TORCHELASTIC_HEALTH_CHECK_PORT", value}}).health;
  };
  CHECK(health("8080") == Endpoint{"", 8080});
  CHECK(health(" 0 ") == Endpoint{"", 0});
  CHECK(health("10.0.0.1:8080") == Endpoint{"10.0.0.1", 8080});
  CHECK(health("[::1]:8080") == Endpoint{"::1", 8080});
  CHECK_FALSE(health(""));
}

TEST_CASE("a health port that is none costs a notice, not the job", "[launch][watch]") {
  for (const char* value : {"x", "-1", "65536", "80 80", "::1:80", "10.0.0.1:", ":80", "1e3"}) {
    INFO(value);
    const auto launch = config({}, {{"TORCHELASTIC_HEALTH_CHECK_PORT", value}});
    CHECK_FALSE(launch.health);
    REQUIRE(launch.notices.size() == 1);
    CHECK_THAT(launch.notices.front(), Contains("no health check: TORCHELASTIC_HEALTH_CHECK_PORT"));
  }
}

}  // namespace
}  // namespace rankrun::launch
