// SPDX-License-Identifier: Apache-2.0
#include "agent/worker_command.h"

#include "agent/errc.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cstdio>

namespace rankrun::agent {
namespace {

namespace fs = std::filesystem;

constexpr fs::perms kExecutable = fs::perms(0755);

Program script(const std::string& path) {
  return {ProgramKind::python_script, path, {"--x", "1"}};
}

TEST_CASE("a script runs unbuffered under the first python3 of PATH", "[agent][command]") {
  const tests::TempDir dir;
  dir.file("a/python", "", kExecutable);
  const std::string python3 = dir.file("b/python3", "", kExecutable);
  const std::string train = dir.file("train.py", "");
  const auto path = (dir.path() / "a").string() + ":" + (dir.path() / "b").string();
  const auto command = resolve_command(script(train), {{"PATH", path}});
  REQUIRE(command);
  CHECK(command->executable == python3);
  CHECK(command->interpreter == python3);
  CHECK(command->arguments == std::vector<std::string>{python3, "-u", train, "--x", "1"});
}

TEST_CASE("python is taken where there is no python3", "[agent][command]") {
  const tests::TempDir dir;
  const std::string python = dir.file("a/python", "", kExecutable);
  const auto command =
      resolve_command({ProgramKind::python_module, "pkg.train", {}}, {{"PATH", dir.path() / "a"}});
  REQUIRE(command);
  CHECK(command->arguments == std::vector<std::string>{python, "-u", "-m", "pkg.train"});
}

TEST_CASE("PYTHON_EXEC wins over a virtual environment, which wins over PATH", "[agent][command]") {
  const tests::TempDir dir;
  const std::string chosen = dir.file("chosen", "", kExecutable);
  const std::string venv = dir.file("venv/bin/python3", "", kExecutable);
  dir.file("a/python3", "", kExecutable);
  Environment env = {{"PATH", dir.path() / "a"}, {"VIRTUAL_ENV", dir.path() / "venv"}};
  const Program module{ProgramKind::python_module, "m", {}};
  CHECK(resolve_command(module, env)->executable == venv);
  env["PYTHON_EXEC"] = chosen;
  CHECK(resolve_command(module, env)->executable == chosen);
  env["PYTHON_EXEC"] = (dir.path() / "missing").string();
  const auto missing = resolve_command(module, env);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == errc::program_not_found);
  CHECK_THAT(missing.error().message(), Catch::Contains("PYTHON_EXEC"));
}

TEST_CASE("a program is searched in PATH unless it has a slash", "[agent][command]") {
  const tests::TempDir dir;
  const std::string tool = dir.file("a/tool", "", kExecutable);
  const Environment env = {{"PATH", "/nonexistent:" + (dir.path() / "a").string()}};
  const auto found = resolve_command({ProgramKind::executable, "tool", {"-v"}}, env);
  REQUIRE(found);
  CHECK(found->executable == tool);
  CHECK(found->arguments == std::vector<std::string>{"tool", "-v"});
  CHECK(found->interpreter == std::nullopt);
  CHECK(resolve_command({ProgramKind::executable, tool, {}}, env));
  CHECK_FALSE(resolve_command({ProgramKind::executable, "./tool", {}}, env));
}

TEST_CASE("what cannot be run is refused with the reason", "[agent][command]") {
  const tests::TempDir dir;
  const std::string plain = dir.file("a/plain", "");
  const Environment env = {{"PATH", dir.path() / "a"}};
  const auto code = [&env](ProgramKind kind, const std::string& name) {
    const auto command = resolve_command({kind, name, {}}, env);
    REQUIRE_FALSE(command);
    return command.error().code;
  };
  CHECK(code(ProgramKind::executable, "nowhere") == errc::program_not_found);
  CHECK(code(ProgramKind::executable, plain + "/below") == errc::program_not_found);
  CHECK(code(ProgramKind::executable, dir.path()) == errc::program_not_executable);
  CHECK(code(ProgramKind::executable, plain) == errc::program_not_executable);
  CHECK(code(ProgramKind::executable, "plain") == errc::program_not_executable);
  CHECK(code(ProgramKind::python_script, dir.path()) == errc::program_not_executable);
  CHECK(code(ProgramKind::python_script, dir.path() / "no.py") == errc::program_not_found);
  CHECK(code(ProgramKind::python_module, "m") == errc::program_not_found);  // no interpreter
}

TEST_CASE("a script that may not be read is refused", "[agent][command]") {
  if (::geteuid() == 0) {
    std::puts("SKIPPED: root may read every file");
    return;
  }
  const tests::TempDir dir;
  const std::string secret = dir.file("secret.py", "", fs::perms(0));
  const auto command = resolve_command(script(secret), {{"PATH", "/usr/bin:/bin"}});
  REQUIRE_FALSE(command);
  CHECK(command.error().code == errc::program_not_executable);
}

TEST_CASE("local_rank is substituted as torchrun does", "[agent][command]") {
  CHECK(substitute_local_rank("--gpu=${local_rank}", 3) == "--gpu=3");
  CHECK(substitute_local_rank("$local_rank/$local_rank", 12) == "12/12");
  CHECK(substitute_local_rank("$$local_rank", 1) == "$local_rank");
  CHECK(substitute_local_rank("a$$b$", 1) == "a$b$");
  CHECK(substitute_local_rank("$HOME ${other} $local_ranks", 1) == "$HOME ${other} $local_ranks");
  CHECK(substitute_local_rank("", 1).empty());
}

TEST_CASE("one worker reads the terminal, with job control when it was chosen",
          "[agent][command]") {
  LaunchConfig config;
  config.local_world_size = GENERATE(1, 2);
  const bool is_alone = config.local_world_size == 1;
  SECTION("without a choice, several workers do not compete for a terminal") {
    CHECK(input_of(config, 0, true) == (is_alone ? Input::inherited : Input::nothing));
    CHECK(input_of(config, 0, false) == Input::inherited);
  }
  SECTION("with a choice, only that one reads") {
    config.stdin_rank = 0;
    CHECK(input_of(config, 0, true) == Input::terminal);
    CHECK(input_of(config, 0, false) == Input::inherited);
    CHECK(input_of(config, 1, true) == Input::nothing);
    CHECK(input_of(config, 1, false) == Input::nothing);
  }
}

}  // namespace
}  // namespace rankrun::agent
