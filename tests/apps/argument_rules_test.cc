// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/argument_rules.h"

#include <catch2/catch.hpp>

namespace rankrun::launch {
namespace {

using Words = std::vector<std::string>;

ParsedArguments parsed(const Words& arguments, const agent::Environment& environment = {}) {
  auto result = apply_argument_rules(arguments, environment);
  if (!result) FAIL(result.error().message());
  return *result;
}

std::string refused(const Words& arguments, const agent::Environment& environment = {}) {
  const auto result = apply_argument_rules(arguments, environment);
  REQUIRE_FALSE(result);
  return result.error().message();
}

TEST_CASE("options end at the program, and what follows is never looked at", "[launch][rules]") {
  const auto arguments =
      parsed({"--standalone", "train.py", "--nnodes", "--unknown", "-x", "--", "--d", "5"});
  CHECK(arguments.has("standalone"));
  CHECK(arguments.program == "train.py");
  CHECK(arguments.program_arguments == Words{"--nnodes", "--unknown", "-x", "--", "--d", "5"});
}

TEST_CASE("values are joined or follow, and the last one wins", "[launch][rules]") {
  CHECK(parsed({"--role", "a", "x.py"}).value("role") == "a");
  CHECK(parsed({"--role=a", "x.py"}).value("role") == "a");
  CHECK(parsed({"--role=a", "--role=b=c", "x.py"}).value("role") == "b=c");
  CHECK(parsed({"--rdzv-id=", "x.py"}).value("rdzv-id") == "");
  CHECK(parsed({"--rdzv-id=", "x.py"}).program == "x.py");
  CHECK(parsed({"x.py"}).value("role") == std::nullopt);
}

TEST_CASE("dashes and underscores are the same option", "[launch][rules]") {
  CHECK(parsed({"--nproc_per_node=2", "x.py"}).value("nproc-per-node") == "2");
  CHECK(parsed({"--no_python", "x"}).has("no-python"));
}

TEST_CASE("unique prefixes are taken, those of both spellings are not", "[launch][rules]") {
  CHECK(parsed({"--nproc-per", "2", "x.py"}).value("nproc-per-node") == "2");
  CHECK(parsed({"--rdzv-b=c10d", "x.py"}).value("rdzv-backend") == "c10d");
  CHECK(parsed({"--stand", "x.py"}).has("standalone"));
  CHECK_THAT(refused({"--nproc", "2", "x.py"}),
             Catch::Contains("ambiguous option: --nproc could match --nproc-per-node, "
                             "--nproc_per_node"));
  CHECK_THAT(refused({"--m", "x.py"}), Catch::Contains("ambiguous option"));
}

TEST_CASE("unknown options are refused", "[launch][rules]") {
  CHECK_THAT(refused({"--standalonee", "x.py"}), Catch::Contains("--standalonee"));
  CHECK_THAT(refused({"--nosuch=1", "x.py"}), Catch::Contains("--nosuch"));
  CHECK_THAT(refused({"-x", "x.py"}), Catch::Contains("-x"));
}

TEST_CASE("a value that looks like an option needs the equals sign", "[launch][rules]") {
  CHECK_THAT(refused({"--role", "--no-python", "x"}), Catch::Contains("expected one argument"));
  CHECK_THAT(refused({"--role", "--", "x"}), Catch::Contains("expected one argument"));
  CHECK_THAT(refused({"--role"}), Catch::Contains("expected one argument"));
  CHECK(parsed({"--role=-x", "x.py"}).value("role") == "-x");
  CHECK(parsed({"--max-restarts", "-1", "x.py"}).value("max-restarts") == "-1");
  CHECK(parsed({"--monitor-interval", "-.5", "x.py"}).value("monitor-interval") == "-.5");
  CHECK(parsed({"--role", "-a b", "x.py"}).value("role") == "-a b");
  CHECK(parsed({"--role=a b", "x.py"}).value("role") == "a b");
}

TEST_CASE("switches take no value", "[launch][rules]") {
  CHECK_THAT(refused({"--standalone=1", "x.py"}), Catch::Contains("ignored explicit argument '1'"));
  CHECK_THAT(refused({"-mpkg"}), Catch::Contains("ignored explicit argument 'pkg'"));
  const auto module = parsed({"-m", "pkg", "-m"});
  CHECK(module.has("module"));
  CHECK(module.program == "pkg");
  CHECK(module.program_arguments == Words{"-m"});
}

TEST_CASE("one literal -- is dropped before and after the program", "[launch][rules]") {
  const auto before = parsed({"--standalone", "--", "x.py", "--y"});
  CHECK(before.program == "x.py");
  CHECK(before.program_arguments == Words{"--y"});
  CHECK(parsed({"--", "--odd-name"}).program == "--odd-name");
  CHECK(parsed({"x.py", "--", "--y", "--"}).program_arguments == Words{"--y", "--"});
  CHECK(parsed({"--"}).program == std::nullopt);
}

TEST_CASE("PET_ variables stand in for options that are not given", "[launch][rules]") {
  const agent::Environment env = {
      {"PET_NPROC_PER_NODE", "4"}, {"PET_ROLE", ""}, {"PET_STANDALONE", "1"}, {"PET_MODULE", "0"}};
  const auto arguments = parsed({"x.py"}, env);
  CHECK(arguments.value("nproc-per-node") == "4");
  CHECK(arguments.value("role") == "");
  CHECK(arguments.has("standalone"));
  CHECK_FALSE(arguments.has("module"));
  CHECK(parsed({"--nproc-per-node=2", "x.py"}, env).value("nproc-per-node") == "2");
  CHECK_THAT(refused({"x.py"}, {{"PET_STANDALONE", "yes"}}), Catch::Contains("PET_STANDALONE=yes"));
  CHECK_FALSE(parsed({"x.py"}, {{"PET_HELP", "1"}}).has("help"));
}

TEST_CASE("help has one line per option", "[launch][rules]") {
  const std::string help = help_text();
  for (const Option& option : kOptions) {
    CAPTURE(option.name);
    const auto place = help.find("--" + std::string(option.name));
    REQUIRE(place != std::string::npos);
    const auto begin = help.rfind('\n', place) + 1;
    CHECK(help.find('\n', place) - begin <= 120);
  }
}

TEST_CASE("integers are read as Python reads them", "[launch][rules]") {
  CHECK(parse_python_integer("12") == 12);
  CHECK(parse_python_integer(" +1_000\n") == 1000);
  CHECK(parse_python_integer("-3") == -3);
  CHECK(parse_python_integer("007") == 7);
  for (const auto* text : {"",
                           " ",
                           "-",
                           "+",
                           "_1",
                           "1_",
                           "1__0",
                           "1.5",
                           "1 0",
                           "0x10",
                           "a",
                           "--1",
                           "+-1",
                           "99999999999999999999"}) {
    CAPTURE(text);
    CHECK(parse_python_integer(text) == std::nullopt);
  }
}

}  // namespace
}  // namespace rankrun::launch
