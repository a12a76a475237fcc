// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/completion.h"

#include "apps/launch/option_table.h"
#include "tests/apps/shell.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <vector>

namespace rankrun::launch {
namespace {

using Words = std::vector<std::string>;

// What bash offers, a word a line, for a command line that ends where the cursor is.
std::string completed(const Words& words) {
  const tests::TempDir folder;
  const std::string script = folder.file("completion", bash_completion());
  std::string command = "bash --norc --noprofile -c 'source \"$1\"; shift; COMP_WORDS=(\"$@\"); " +
                        std::string("COMP_CWORD=$(($# - 1)); _rankrun; ") +
                        "(( ${#COMPREPLY[@]} )) && printf \"%s\\n\" \"${COMPREPLY[@]}\"' - " +
                        script + " rankrun";
  for (const std::string& word : words) {
    command += " '" + word + "'";
  }
  return tests::run_shell(command).output;
}

TEST_CASE("bash completes options, with the values that are words", "[launch][completion]") {
  if (!tests::has_program("bash")) return;
  CHECK(completed({"--nproc"}) == "--nproc-per-node\n");
  CHECK(completed({"--stand"}) == "--standalone\n");
  CHECK(completed({"--on-term", ""}) == "stop\nnotify\n");
  CHECK(completed({"--on_term", "n"}) == "notify\n");
  CHECK(completed({"--nproc-per-node", "c"}) == "cpu\n");
  CHECK(completed({"-r", ""}) == "0\n1\n2\n3\n");
  CHECK(completed({"-m", "--numa-binding", "s"}) == "socket\n");
  CHECK(completed({"--role", "-", "--print-c"}) == "--print-completion\n");
}

TEST_CASE("bash completes a value behind an equals sign, in one word or in three",
          "[launch][completion]") {
  if (!tests::has_program("bash")) return;
  CHECK(completed({"--on-term", "="}) == "stop\nnotify\n");
  CHECK(completed({"--on-term", "=", "n"}) == "notify\n");
  CHECK(completed({"--on-term=n"}) == "--on-term=notify\n");
  CHECK(completed({"--on-term", "=", "stop", "--exit-c"}) == "--exit-code\n");
  CHECK(completed({"--on-term=stop", "--exit-c"}) == "--exit-code\n");
  CHECK(completed({"--role=", "--exit-c"}) == "--exit-code\n");
}

TEST_CASE("bash completes files for the program, paths and all that follows the program",
          "[launch][completion]") {
  if (!tests::has_program("bash")) return;
  CHECK(completed({""}).empty());
  CHECK(completed({"--log-dir", ""}).empty());
  CHECK(completed({"--report", "x"}).empty());
  CHECK(completed({"train.py", "--nproc"}).empty());
  CHECK(completed({"--role", "x", "train.py", "--on-term", ""}).empty());
  CHECK(completed({"-m", "pkg", "--nproc"}).empty());
  CHECK(completed({"--", "--nproc"}).empty());
  CHECK(completed({"-r3", "train.py", "--nproc"}).empty());
}

TEST_CASE("bash offers every option", "[launch][completion]") {
  if (!tests::has_program("bash")) return;
  std::string expected;
  for (const Option& option : option_table()) {
    expected += "--" + std::string(option.name) + "\n";
  }
  CHECK(completed({"--"}) == expected);
}

TEST_CASE("zsh reads its completion without a complaint", "[launch][completion]") {
  if (!tests::has_program("zsh")) return;
  const tests::TempDir folder;
  const std::string script = folder.file("_rankrun", zsh_completion());
  const auto result = tests::run_shell("zsh -n '" + script + "'");
  CHECK(result.output.empty());
  CHECK(result.code == 0);
}

TEST_CASE("zsh is told of every option in every spelling", "[launch][completion]") {
  const std::string script = zsh_completion();
  for (const Option& option : option_table()) {
    for (const std::string& spelling : long_spellings(option)) {
      CHECK_THAT(script, Catch::Contains(")" + spelling + (takes_value(option) ? "=[" : "[")));
    }
  }
  CHECK_THAT(script, Catch::Contains(")-r+["));
  CHECK_THAT(script, Catch::Contains(":stop|notify:(stop notify)'"));
  CHECK_THAT(script, Catch::Contains(":DIR:_files'"));
}

}  // namespace
}  // namespace rankrun::launch
