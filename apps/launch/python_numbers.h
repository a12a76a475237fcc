// SPDX-License-Identifier: Apache-2.0
// Pure: numbers as Python's int() and float() read them, since torchrun hands its values to those.
#pragma once

#include <optional>
#include <string_view>

namespace rankrun::launch {

/// A Python integer: white space around it, a sign and single underscores between digits are
/// allowed. One that does not fit becomes the nearest that does.
std::optional<long> parse_python_integer(std::string_view text);

/// A Python float: the same and a fraction, an exponent, "inf" or "nan".
std::optional<double> parse_python_number(std::string_view text);

}  // namespace rankrun::launch
