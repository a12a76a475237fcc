// SPDX-License-Identifier: Apache-2.0
#include "store/base/log.h"

#include <catch2/catch.hpp>

namespace rankrun::base {
namespace {

TEST_CASE("log levels go by Python's names in any case", "[base][log]") {
  CHECK(*parse_log_level("DEBUG") == spdlog::level::debug);
  CHECK(*parse_log_level("info") == spdlog::level::info);
  CHECK(*parse_log_level("Warning") == spdlog::level::warn);
  CHECK(*parse_log_level("ERROR") == spdlog::level::err);
  CHECK(*parse_log_level("CRITICAL") == spdlog::level::critical);
}

TEST_CASE("an unknown log level is refused with the known ones", "[base][log]") {
  const auto level = parse_log_level("loud");
  REQUIRE_FALSE(level);
  CHECK_THAT(level.error().message(), Catch::Contains("LOGLEVEL=loud") && Catch::Contains("DEBUG"));
}

}  // namespace
}  // namespace rankrun::base
