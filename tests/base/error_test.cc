// SPDX-License-Identifier: Apache-2.0
#include "store/base/error.h"

#include "store/base/result.h"

#include <catch2/catch.hpp>

#include <cerrno>

namespace rankrun::base {
namespace {

TEST_CASE("every error of the foundation has a text", "[base][error]") {
  for (const errc code : {errc::timed_out, errc::invalid_value, errc::internal_error}) {
    CHECK(make_error_code(code).message() != "unknown error");
  }
  CHECK(std::error_code(99, base_category()).message() == "unknown error");
}

TEST_CASE("an error reads as one line: what was tried, what happened, what to do",
          "[base][error]") {
  const Error error{make_error_code(errc::timed_out), "join", "try again"};
  CHECK(error.message() == "join: timed out; try again");
  CHECK(error.within("node 3").message() == "node 3: join: timed out; try again");
  CHECK(Error{make_error_code(errc::timed_out), "", ""}.message() == "timed out");
  CHECK(Error{{}, "no program given", "see --help"}.message() == "no program given; see --help");
}

TEST_CASE("an error stays one line whatever the user typed", "[base][error]") {
  CHECK(Error{{}, "--role=a\nb\x1b[31m\t", ""}.message() == "--role=a\\x0ab\\x1b[31m\t");
}

TEST_CASE("a failure carries the system's code", "[base][error]") {
  const Result<int> result = errno_failure(EACCES, "open x");
  REQUIRE_FALSE(result);
  CHECK(result.error().code == std::errc::permission_denied);
}

}  // namespace
}  // namespace rankrun::base
