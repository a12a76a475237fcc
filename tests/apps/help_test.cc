// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/help.h"

#include "apps/launch/option_table.h"
#include "tests/apps/shell.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

namespace rankrun::launch {
namespace {

TEST_CASE("help tells of every option in lines that fit a terminal", "[launch][help]") {
  const std::string help = help_text();
  for (const Option& option : option_table()) {
    CAPTURE(option.name);
    CHECK_THAT(help, Catch::Contains(" --" + std::string(option.name)));
    if (option.letter != 0) CHECK_THAT(help, Catch::Contains(std::string("  -") + option.letter));
  }
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
    CHECK((line.empty() || line.back() != ' '));
  }
}

TEST_CASE("help says which options have no variable", "[launch][help]") {
  std::string flat = help_text();
  std::replace(flat.begin(), flat.end(), '\n', ' ');
  CHECK_THAT(flat,
             Catch::Contains("--logs-specs, --numa-binding, --print-completion, --help, "
                             "--print-man and --version have none."));
}

TEST_CASE("the manual page tells of every option and every difference", "[launch][help]") {
  std::string page = manual_page("1.2.3");
  CHECK_THAT(page, Catch::StartsWith(".TH RANKRUN 1 \"\" \"rankrun 1.2.3\""));
  for (auto dash = page.find("\\-"); dash != std::string::npos; dash = page.find("\\-")) {
    page.replace(dash, 2, "-");
  }
  for (const Option& option : option_table()) {
    CAPTURE(option.name);
    CHECK_THAT(page, Catch::Contains("--" + std::string(option.name)));
    CHECK_THAT(page, Catch::Contains(std::string(option.help)));
    CHECK_THAT(page, Catch::Contains(std::string(option.difference)));
  }
}

TEST_CASE("groff reads the manual page without a warning", "[launch][help]") {
  if (!tests::has_program("groff")) return;
  const tests::TempDir folder;
  const std::string page = folder.file("rankrun.1", manual_page("1.2.3"));
  const auto result = tests::run_shell("groff -man -Tutf8 -ww '" + page + "' >/dev/null");
  CHECK(result.output.empty());
  CHECK(result.code == 0);
}

}  // namespace
}  // namespace rankrun::launch
