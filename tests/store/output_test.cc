// SPDX-License-Identifier: Apache-2.0
#include "store/output.h"

#include <catch2/catch.hpp>

#include <array>
#include <memory>
#include <string>

namespace rankrun::store {
namespace {

Value value_of(std::size_t size, char fill) {
  return std::make_shared<const std::string>(size, fill);
}

std::string front(const Output& output) {
  std::array<std::string_view, 64> views;
  const std::size_t count = output.gather(views);
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += views[i];
  }
  return bytes;
}

}  // namespace

TEST_CASE("output keeps the order of copied and referenced bytes", "[store][output]") {
  Output output;
  REQUIRE(output.empty());
  output.append("ab");
  output.append(value_of(Output::kReferenceFrom, 'x'));
  output.append("cd");
  output.append(value_of(3, 'y'));
  REQUIRE(output.bytes() == Output::kReferenceFrom + 7);
  REQUIRE(output.references() == 1);
  REQUIRE(front(output) == "ab" + std::string(Output::kReferenceFrom, 'x') + "cdyyy");
}

TEST_CASE("output references large values instead of copying them", "[store][output]") {
  Output output;
  const Value value = value_of(Output::kReferenceFrom, 'x');
  output.append(value);
  std::array<std::string_view, 1> view;
  REQUIRE(output.gather(view) == 1);
  REQUIRE(view[0].data() == value->data());
  output.consume(value->size());
  REQUIRE(value.use_count() == 1);
}

TEST_CASE("nothing is appended by an empty or a missing value", "[store][output]") {
  Output output;
  output.append("");
  output.append(Value());
  output.append(value_of(0, 'x'));
  REQUIRE(output.empty());
  REQUIRE(output.references() == 0);
}

TEST_CASE("output is consumed in steps of any size", "[store][output]") {
  const auto step =
      GENERATE(std::size_t{1}, std::size_t{2}, Output::kReferenceFrom + 1, std::size_t{100'000});
  Output output;
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    const char fill = static_cast<char>('a' + i % 26);
    output.append(std::string(3, fill));
    output.append(value_of(Output::kReferenceFrom, fill));
    expected += std::string(Output::kReferenceFrom + 3, fill);
  }
  std::string got;
  while (!output.empty()) {
    std::array<std::string_view, 1> view;
    output.gather(view);
    const std::string chunk(view[0].substr(0, step));
    output.consume(chunk.size());
    got += chunk;
    REQUIRE(output.bytes() == expected.size() - got.size());
  }
  REQUIRE(got == expected);
}

TEST_CASE("small values are referenced, too, when much is left to send", "[store][output]") {
  Output output;
  const Value small = value_of(100, 'x');
  while (output.bytes() < 10 * Output::kMostCopied) {
    output.append("12345678");
    output.append(small);
  }
  REQUIRE(output.references() > 0);
  std::string got;
  while (!output.empty()) {
    const std::string bytes = front(output);
    output.consume(bytes.size());
    got += bytes;
  }
  std::string expected;
  while (expected.size() < got.size()) {
    expected += "12345678" + *small;
  }
  REQUIRE(got == expected);
  REQUIRE(small.use_count() == 1);
}

TEST_CASE("bytes appended to a half consumed output come last", "[store][output]") {
  Output output;
  output.append("abc");
  output.consume(2);
  output.append("de");
  REQUIRE(front(output) == "cde");
}

}  // namespace rankrun::store
