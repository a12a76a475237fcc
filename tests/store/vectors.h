// SPDX-License-Identifier: Apache-2.0
// The conformance vectors as values. Notation: the head of tests/conformance/c10d_modern.txt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rankrun::store::test {

enum class StepKind { send, expect, expect_in_any_order, expect_nothing, expect_close, close };

struct Step {
  StepKind kind = StepKind::send;
  char connection = 'a';
  std::vector<std::string> bytes;  // several only for expect_in_any_order
  std::string text;                // as written, for messages
};

struct Vector {
  std::string name;  // "M08 set then get"
  bool raw = false;  // connections send no handshake by themselves
  std::vector<Step> steps;
};

/// Bytes of a text like "01 6b{8192} 00"; throws std::invalid_argument on anything else.
std::string from_hex(std::string_view text);

/// Reads tests/conformance/`file`; throws when a line is not understood.
std::vector<Vector> read_vectors(const std::string& file);

}  // namespace rankrun::store::test
