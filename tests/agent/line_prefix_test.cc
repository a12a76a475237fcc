// SPDX-License-Identifier: Apache-2.0
#include "agent/line_prefix.h"

#include "agent/config.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

const PrefixValues trainer_values{
    .role_name = "trainer", .local_rank = 1, .rank = 9, .host = "node7"};

TEST_CASE("the default prefix is torchrun's", "[agent][prefix]") {
  LinePrefix prefix(OutputConfig{}.line_prefix, trainer_values);
  CHECK(prefix.at({}) == "[trainer1]:");
  CHECK(LinePrefix().at({}).empty());
}

TEST_CASE("every macro of a prefix has a value and others stay as typed", "[agent][prefix]") {
  LinePrefix prefix("$rank/${local_rank} ${hostname}=${host} ${nope}$x $$|", trainer_values);
  CHECK(prefix.at({}) == "9/1 node7=node7 ${nope}$x $|");
}

TEST_CASE("a role that looks like a macro is not replaced", "[agent][prefix]") {
  PrefixValues values = trainer_values;
  values.role_name = "${time}$$";
  LinePrefix prefix("${role_name}", values);
  CHECK(prefix.at({}) == "${time}$$");
}

TEST_CASE("the time of a prefix is that of its lines", "[agent][prefix]") {
  LinePrefix prefix("[${time}]", trainer_values);
  const std::string first(prefix.at(WallTime(std::chrono::milliseconds(1234))));
  CHECK_THAT(first, Catch::Matches(R"(\[\d\d:\d\d:01\.234\])"));
  const std::string later(prefix.at(WallTime(std::chrono::milliseconds(2005))));
  CHECK_THAT(later, Catch::Matches(R"(\[\d\d:\d\d:02\.005\])"));
}

}  // namespace
}  // namespace rankrun::agent
