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
  CHECK(parsed({"--nproc_", "2", "x.py"}).value("nproc-per-node") == "2");
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

// What Python 3.11's argparse made of torchrun's options, with the rest as argparse.REMAINDER.
struct Corner {
  Words arguments;
  std::string outcome;  // "option=value ... | program arguments", "HELP", or part of the refusal
};

std::ostream& operator<<(std::ostream& out, const Corner& corner) {
  for (const std::string& argument : corner.arguments) {
    out << "'" << argument << "' ";
  }
  return out;
}

std::string outcome_of(const Words& arguments) {
  const auto result = apply_argument_rules(arguments, {});
  if (!result) return result.error().message();
  if (result->has("help")) return "HELP";
  std::string text;
  for (const auto& [option, value] : result->values) {
    text += std::string(option) + (value.empty() ? "" : "=" + value) + " ";
  }
  text += "| " + result->program.value_or("<none>");
  for (const std::string& argument : result->program_arguments) {
    text += " " + argument;
  }
  return text;
}

const std::vector<Corner> corners = {
    {{"-hm"}, "HELP"},
    {{"-mh", "x"}, "HELP"},
    {{"-hr3"}, "HELP"},
    {{"--h"}, "HELP"},
    {{"-h", "--unknown"}, "HELP"},
    {{"-h", "--max-restarts=x"}, "HELP"},
    {{"-hx", "x"}, "ignored explicit argument 'x'"},
    {{"-hmx"}, "ignored explicit argument 'x'"},
    {{"-hr"}, "argument --redirects: expected one argument"},
    {{"-h=", "x"}, "ignored explicit argument ''"},
    {{"--help=1"}, "ignored explicit argument '1'"},
    {{"-mm", "pkg"}, "module | pkg"},
    {{"-mm"}, "module | <none>"},
    {{"-mr3", "x"}, "module redirects=3 | x"},
    {{"-mr", "3", "x"}, "module redirects=3 | x"},
    {{"-mr=3", "x"}, "module redirects==3 | x"},
    {{"-mmr", "3", "x"}, "module redirects=3 | x"},
    {{"-m=r3", "x"}, "module redirects=3 | x"},
    {{"-m=", "x"}, "ignored explicit argument ''"},
    {{"-m=1", "x"}, "ignored explicit argument '1'"},
    {{"-mmx", "x"}, "ignored explicit argument 'x'"},
    {{"-m-", "x"}, "ignored explicit argument '-'"},
    {{"-m-r3", "x"}, "ignored explicit argument '-r3'"},
    {{"-m b", "x"}, "ignored explicit argument ' b'"},
    {{"-rm", "x"}, "redirects=m | x"},
    {{"-r-1", "x"}, "redirects=-1 | x"},
    {{"-r-", "x"}, "redirects=- | x"},
    {{"-r=3=4", "x"}, "redirects=3=4 | x"},
    {{"-r==3", "x"}, "redirects==3 | x"},
    {{"-r=", "x"}, "redirects | x"},
    {{"-r", "", "x"}, "redirects | x"},
    {{"-r 3", "x"}, "redirects= 3 | x"},
    {{"-t3", "-r1", "-m", "x"}, "module redirects=1 tee=3 | x"},
    {{"-x", "x"}, "unrecognized argument: -x"},
    {{"-xm", "x"}, "unrecognized argument: -xm"},
    {{"-=3", "x"}, "unrecognized argument: -=3"},
    {{"-"}, "| -"},
    {{"-", "--role", "a"}, "| - --role a"},
    {{"--role", "-", "x"}, "role=- | x"},
    {{"--", "-h"}, "| -h"},
    {{"--", "x", "--", "b"}, "| x -- b"},
    {{"--", "x", "--"}, "| x --"},
    {{"--", "--", "x"}, "| -- x"},
    {{"x", "--"}, "| x"},
    {{"x", "--", "b", "--"}, "| x b --"},
    {{"x", "--", "--", "b"}, "| x -- b"},
    {{"x", "a", "--", "b"}, "| x a -- b"},
    {{"-m", "--", "pkg", "--", "a"}, "module | pkg -- a"},
    {{"--role", "a", "--", "x"}, "role=a | x"},
    {{"--role", "--", "x"}, "expected one argument"},
    {{"--"}, "| <none>"},
    {{"", "x"}, "|  x"},
    {{"-1", "x"}, "| -1 x"},
    {{"-.5", "x"}, "| -.5 x"},
    {{"-5.", "x"}, "unrecognized argument: -5."},
    {{"--role", "-1.", "x"}, "expected one argument"},
    {{"--role", "-1e3", "x"}, "expected one argument"},
    {{"--role", "-h"}, "expected one argument"},
    {{"--role", "-m b", "x"}, "expected one argument"},
    {{"--role", "--ro=x y", "x"}, "expected one argument"},
    {{"--role", "-a b", "x"}, "role=-a b | x"},
    {{"--role", "--a=b c", "x"}, "role=--a=b c | x"},
    {{"--role", "--role a", "x"}, "role=--role a | x"},
    {{"--role a", "x"}, "| --role a x"},
    {{"--a=b c", "x"}, "| --a=b c x"},
    {{"--role=", "--role", "x", "y"}, "role=x | y"},
    {{"---", "x"}, "unrecognized argument: ---"},
    {{"---role=3", "x"}, "unrecognized argument: ---role=3"},
    {{"--=3", "x"}, "ambiguous option: -- could match --nnodes, "},
    {{"--redirect=3", "x"}, "redirects=3 | x"},
    {{"--rdzv_b", "c10d", "x"}, "rdzv-backend=c10d | x"},
    {{"--local-rank", "0", "x"}, "local-ranks-filter=0 | x"},
    {{"--mod", "x"}, "module | x"},
    {{"--mo", "x"},
     "--mo could match --monitor-interval, --monitor_interval, --module; see rankrun --help"},
    {{"--module=", "x"}, "ignored explicit argument ''"},
    {{"--max-restarts", "-1_0", "x"}, "expected one argument"},
    {{"--max-restarts=x", "-h"}, "--max-restarts=x: invalid value; use a whole number"},
    {{"--max-restarts=x", "--max-restarts=1", "x"}, "--max-restarts=x: invalid value"},
    {{"--max-restarts", "1.5", "x"}, "use a whole number"},
    {{"--monitor-interval", "fast", "x"}, "use a number"},
    {{"--start-method", "x", "y"}, "use one of spawn, fork, forkserver"},
    {{"--numa-binding=", "y"}, "use one of node, socket, exclusive, core-complex"},
};

TEST_CASE("tokens are read as argparse reads them", "[launch][rules]") {
  const Corner corner = GENERATE(from_range(corners));
  CAPTURE(corner);
  const std::string outcome = outcome_of(corner.arguments);
  const bool is_whole = corner.outcome == "HELP" || corner.outcome.find('|') != std::string::npos;
  if (is_whole) {
    CHECK(outcome == corner.outcome);
  } else {
    CHECK_THAT(outcome, Catch::Contains(corner.outcome));
  }
}

TEST_CASE("tokens are read otherwise where argparse does harm", "[launch][rules]") {
  SECTION("arguments of the program that begin like several options stay its own") {
    CHECK(outcome_of({"x", "--d", "5"}) == "| x --d 5");
  }
  SECTION("a joined double dash is a value, not an empty list") {
    CHECK(outcome_of({"--role=--", "x"}) == "role=-- | x");
  }
  SECTION("an unknown option is named, also in front of a request for help") {
    CHECK_THAT(outcome_of({"--unknown", "-h"}), Catch::Contains("--unknown"));
  }
}

TEST_CASE("our options do not make a prefix ambiguous that is torchrun's", "[launch][rules]") {
  CHECK(outcome_of({"--te", "3", "x"}) == "tee=3 | x");
  CHECK(outcome_of({"--t=3", "x"}) == "tee=3 | x");
  CHECK(outcome_of({"--re=3", "x"}) == "redirects=3 | x");
  CHECK(outcome_of({"--print-", "bash", "x"}) == "print-completion=bash | x");
  CHECK_THAT(outcome_of({"--event", "x"}),
             Catch::Contains("could match --event-log-handler, --event_log_handler; "));
  CHECK(outcome_of({"--events", "f", "x"}) == "events=f | x");
  CHECK(outcome_of({"--rep", "f", "x"}) == "report=f | x");
  CHECK(outcome_of({"--thr", "auto", "x"}) == "threads=auto | x");
  CHECK_THAT(outcome_of({"--std", "0", "x"}), Catch::Contains("--stdin-rank, --stdin_rank; "));
}

TEST_CASE("variables follow the same types, and one that is empty counts", "[launch][rules]") {
  CHECK(parsed({"x"}, {{"PET_MAX_RESTARTS", " +3 "}}).value("max-restarts") == " +3 ");
  CHECK_THAT(refused({"x"}, {{"PET_MAX_RESTARTS", ""}}), Catch::Contains("PET_MAX_RESTARTS=: "));
  CHECK_THAT(refused({"x"}, {{"PET_MONITOR_INTERVAL", "x"}}), Catch::Contains("use a number"));
  CHECK_THAT(refused({"x"}, {{"PET_START_METHOD", "bad"}}), Catch::Contains("use one of spawn"));
  CHECK_THAT(refused({"x"}, {{"PET_STANDALONE", ""}}), Catch::Contains("0 is off, 1 is on"));
  CHECK(parsed({"x"}, {{"PET_NO_PYTHON", "-2"}}).has("no-python"));
  CHECK(parsed({"x"}, {{"PET_NUMA_BINDING", "bad"}, {"PET_LOGS_SPECS", "bad"}}).values.empty());
  CHECK(parsed({"-h"}, {{"PET_STANDALONE", "bad"}}).has("help"));
}

TEST_CASE("ten thousand arguments of the program are handed on", "[launch][rules]") {
  Words arguments(10'001, "--nnodes=many");
  arguments.front() = "x.py";
  CHECK(parsed(arguments).program_arguments.size() == 10'000);
}

}  // namespace
}  // namespace rankrun::launch
