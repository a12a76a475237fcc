// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/python_numbers.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

namespace rankrun::launch {
namespace {

TEST_CASE("integers are read as Python reads them", "[launch][numbers]") {
  CHECK(parse_python_integer("12") == 12);
  CHECK(parse_python_integer(" +1_000\n") == 1000);
  CHECK(parse_python_integer("-3") == -3);
  CHECK(parse_python_integer("007") == 7);
  for (const auto* text :
       {"", " ", "-", "+", "_1", "1_", "1__0", "1.5", "1 0", "0x10", "a", "--1", "+-1", "-+1"}) {
    CAPTURE(text);
    CHECK(parse_python_integer(text) == std::nullopt);
  }
}

TEST_CASE("an integer that does not fit is the nearest that does", "[launch][numbers]") {
  CHECK(parse_python_integer("99999999999999999999") == std::numeric_limits<long>::max());
  CHECK(parse_python_integer("-99999999999999999999") == std::numeric_limits<long>::lowest());
}

TEST_CASE("numbers are read as Python reads them", "[launch][numbers]") {
  CHECK(parse_python_number("0.5") == 0.5);
  CHECK(parse_python_number(" +1_0e-1 ") == 1.0);
  CHECK(parse_python_number("-.5") == -0.5);
  CHECK(parse_python_number("5.") == 5.0);
  CHECK(std::isinf(parse_python_number("inf").value_or(0)));
  CHECK(std::isnan(parse_python_number("nan").value_or(0)));
  for (const auto* text : {"", ".", "1e", "0x1p3", "1_.5", "1,5", "x", "1 2"}) {
    CAPTURE(text);
    CHECK(parse_python_number(text) == std::nullopt);
  }
}

}  // namespace
}  // namespace rankrun::launch
