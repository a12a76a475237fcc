// SPDX-License-Identifier: Apache-2.0
#include "store/base/text.h"

#include <catch2/catch.hpp>

namespace rankrun::base {
namespace {

using Parts = std::vector<std::string_view>;

TEST_CASE("a text is split at each separator, and none of its parts is lost", "[base][text]") {
  CHECK(split("a,b", ',') == Parts{"a", "b"});
  CHECK(split(",a,,b,", ',') == Parts{"", "a", "", "b", ""});
  CHECK(split("", ',') == Parts{""});
}

TEST_CASE("white space is trimmed at both ends only", "[base][text]") {
  CHECK(trimmed(" \t a b\n") == "a b");
  CHECK(trimmed(" \n").empty());
}

TEST_CASE("control characters of a text are shown, not obeyed", "[base][text]") {
  CHECK(escape_control("a\x1b[1m\n\tb") == "a\\x1b[1m\\x0a\tb");
}

}  // namespace
}  // namespace rankrun::base
