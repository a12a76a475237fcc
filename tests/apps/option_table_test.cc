// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/option_table.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

namespace rankrun::launch {
namespace {

// A row of the table in agent/README.md.
std::string readme_row(const Option& option) {
  const std::string letter = option.letter == 0 ? "" : fmt::format("`-{}`, ", option.letter);
  return fmt::format("| {}`--{}` | {} | {} |\n",
                     letter,
                     option.name,
                     to_string(option.state),
                     option.state == OptionState::ours ? option.help : option.difference);
}

TEST_CASE("names and letters are there once", "[launch][table]") {
  std::set<std::string> names;
  std::set<char> letters;
  for (const Option& option : option_table()) {
    CAPTURE(option.name);
    for (const std::string& spelling : long_spellings(option)) {
      CHECK(names.insert(spelling).second);
    }
    if (option.letter != 0) CHECK(letters.insert(option.letter).second);
  }
}

TEST_CASE("every option says what the texts need", "[launch][table]") {
  for (const Option& option : option_table()) {
    CAPTURE(option.name);
    CHECK(option.help.ends_with('.'));
    CHECK((option.difference.empty() || option.difference.ends_with('.')));
    CHECK(takes_value(option) != option.value_name.empty());
    if (option.kind == OptionKind::choice) CHECK(literal_words(option).size() >= 2);
    if (option.kind == OptionKind::request) CHECK_FALSE(option.has_variable);
    const bool works_alike = option.state == OptionState::works;
    if (option.state != OptionState::ours && !works_alike) CHECK_FALSE(option.difference.empty());
  }
}

TEST_CASE("torchrun's options come first", "[launch][table]") {
  const auto options = option_table();
  CHECK(std::is_partitioned(options.begin(), options.end(), [](const Option& option) {
    return option.state != OptionState::ours;
  }));
}

TEST_CASE("words in lower case stand for themselves", "[launch][table]") {
  using Words = std::vector<std::string_view>;
  const auto words = [](std::string_view value_name) {
    return literal_words(
        Option{"x", 0, OptionKind::text, OptionState::works, false, value_name, "", ""});
  };
  CHECK(words("N|auto|cpu|gpu") == Words{"auto", "cpu", "gpu"});
  CHECK(words("FILE|-") == Words{"-"});
  CHECK(words("spawn|fork") == Words{"spawn", "fork"});
  CHECK(words("HOST[:PORT]").empty());
  CHECK(words("").empty());
}

TEST_CASE("a variable is named after its option", "[launch][table]") {
  CHECK(variable_name("nproc-per-node") == "PET_NPROC_PER_NODE");
}

// When the table has changed, this prints the rows that belong into the README.
TEST_CASE("the table in agent/README.md is that of the options", "[launch][table]") {
  std::ifstream file(RANKRUN_AGENT_README);
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  const std::string readme = text.str();
  constexpr std::string_view kHead =
      "| flag | state | what is different, and why |\n|---|---|---|\n";
  const auto head = readme.find(kHead);
  REQUIRE(head != std::string::npos);
  const auto begin = head + kHead.size();
  const std::string rows = readme.substr(begin, readme.find("\n\n", begin) + 1 - begin);

  std::string expected;
  for (const Option& option : option_table()) {
    expected += readme_row(option);
  }
  if (rows != expected) std::puts(expected.c_str());
  CHECK(rows == expected);
}

}  // namespace
}  // namespace rankrun::launch
