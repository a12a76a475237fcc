// SPDX-License-Identifier: Apache-2.0
#include "store/base/text.h"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rankrun::base {
namespace {

TEST_CASE("a text is split at each separator, and none of its parts is lost", "[base][text]") {
  using Parts = std::vector<std::string_view>;
  CHECK(split("a,b", ',') == Parts{"a", "b"});
  CHECK(split(",a,,b,", ',') == Parts{"", "a", "", "b", ""});
  CHECK(split("", ',') == Parts{""});
}

TEST_CASE("text stays as it is unless it could move a cursor", "[base][text]") {
  const std::string harmless = "tab\t, quotes \"', \xc3\xa9, \xe2\x82\xac, \xf0\x9f\x98\x80";
  CHECK(escape_control(harmless) == harmless);
  CHECK(escape_control("a\x1b[2Jb\r\n\x07\x7f") == "a\\x1b[2Jb\\x0d\\x0a\\x07\\x7f");
  CHECK(escape_control(std::string_view("\0x", 2)) == "\\x00x");
}

TEST_CASE("control characters of the second set are escaped in both encodings", "[base][text]") {
  CHECK(escape_control("\xc2\x9b"
                       "2J") == "\\xc2\\x9b2J");
  CHECK(escape_control("\x9b"
                       "2J") == "\\x9b2J");
  CHECK(escape_control("\xc2\xa0") == "\xc2\xa0");
}

TEST_CASE("bytes that are no UTF-8 are escaped", "[base][text]") {
  CHECK(escape_control("\xff\xfe") == "\\xff\\xfe");
  CHECK(escape_control("\xc3(") == "\\xc3(");
  CHECK(escape_control("\xe2\x82") == "\\xe2\\x82");
  CHECK(escape_control("\xc0\x80") == "\\xc0\\x80");
}

TEST_CASE("white space at both ends is removed", "[base][text]") {
  CHECK(trimmed(" \t a b\r\n") == "a b");
  CHECK(trimmed(" \n").empty());
}

}  // namespace
}  // namespace rankrun::base
