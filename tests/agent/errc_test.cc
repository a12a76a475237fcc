// SPDX-License-Identifier: Apache-2.0
#include "agent/errc.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

TEST_CASE("every error of the agent has a text", "[agent][errc]") {
  for (const errc code :
       {errc::program_not_found, errc::program_not_executable, errc::workers_stuck}) {
    CHECK(make_error_code(code).message() != "unknown error");
  }
  CHECK(std::error_code(99, agent_category()).message() == "unknown error");
}

}  // namespace
}  // namespace rankrun::agent
