// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/options.h"

#include "apps/launch/option_table.h"
#include "tests/apps/launch_case.h"

#include <algorithm>

namespace rankrun::launch {
namespace {

using agent::Environment;
using agent::ExitCodeStyle;
using agent::LaunchConfig;

TEST_CASE("a bare command is one worker on loopback under a random id", "[launch][options]") {
  LaunchConfig expected;
  expected.program.name = "x.py";
  expected.run_id = "random";
  expected.handled_signals = {1, 2, 3, 15};
  expected.environment = {{"HOME", "/h"},
                          {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"}};
  CHECK(config({}, {{"HOME", "/h"}}) == expected);
}

TEST_CASE("a bad value is named by what set it", "[launch][options]") {
  CHECK_THAT(refused({"--master-port=-1"}), Catch::StartsWith("--master-port=-1: "));
  CHECK_THAT(refused({}, {{"PET_MASTER_PORT", "-1"}}), Catch::StartsWith("PET_MASTER_PORT=-1: "));
}

TEST_CASE("switches and levels of the whole launch", "[launch][options]") {
  CHECK(config({"--legacy"}).serve_legacy_anywhere);
  CHECK(config({}, {{"LOGLEVEL", "info"}}).log_level == spdlog::level::info);
  CHECK_THAT(refused({}, {{"LOGLEVEL", "loud"}}), Catch::Contains("LOGLEVEL=loud"));
  CHECK(config({}).exit_code_style == ExitCodeStyle::worker);
  CHECK(config({"--exit-code=worker"}).exit_code_style == ExitCodeStyle::worker);
  CHECK(config({}, {{"PET_EXIT_CODE", "torchrun"}}).exit_code_style == ExitCodeStyle::torchrun);
}

TEST_CASE("a refusal has exit code 2, or torchrun's when that is asked for", "[launch][options]") {
  struct Refusal {
    std::string argument;
    int of_torchrun;
  };
  // What torchrun's parser refuses is 2 there, too; later it ends with 1.
  const auto refusal = GENERATE(values<Refusal>({
      {"--bogus", 2},
      {"--max-restarts=x", 2},
      {"--monitor-interval=x", 2},
      {"--start-method=x", 2},
      {"--master-port=", 2},
      {"--nnodes=1:2:3", 1},
      {"--nnodes=a", 1},
      {"--nnodes=0", 1},
      {"--nproc-per-node=foo", 1},
      {"--nproc-per-node=gpu", 1},
      {"--max-restarts=-1", 1},
      {"--monitor-interval=0", 1},
      {"--redirects=4", 1},
      {"--local-ranks-filter=x", 1},
      {"--rdzv-conf=abc", 1},
      {"--rdzv-conf==x", 1},
      {"--rdzv-conf=backend=x", 1},
      {"--rdzv-conf=is_host=x", 1},
      {"--rdzv-conf=join_timeout=x", 1},
      {"--rdzv-endpoint=a:99999", 1},
      {"--rdzv-endpoint=localhost", 1},
      {"--rdzv-backend=nope", 1},
      {"--logs-specs=nope", 1},
      {"--event-log-handler=nope", 1},
      {"--shutdown-timeout=-1", 1},
      {"--signals-to-handle=SIGKILL", 1},
  }));
  CAPTURE(refusal.argument);
  CHECK(usage_error({refusal.argument}).exit_code == 2);
  CHECK(usage_error({"--exit-code=torchrun", refusal.argument}).exit_code == refusal.of_torchrun);
}

TEST_CASE("a command without a program is refused", "[launch][options]") {
  const auto invocation = parse_invocation({}, {{"PET_EXIT_CODE", "torchrun"}}, host_with_gpus(0));
  REQUIRE_FALSE(invocation);
  CHECK(invocation.error().exit_code == 2);
  CHECK_THAT(invocation.error().error.message(), Catch::Contains("no program given"));
}

// Values that no option can want, or that few can; all ends in a config or in one line.
TEST_CASE("no value of any option is more than a line", "[launch][options]") {
  const std::string huge(131'071, 'x');  // the longest argument that Linux takes
  const std::string digits(131'071, '9');
  for (const Option& option : option_table()) {
    for (const std::string& value : Words{"", huge, digits, "-1", "-" + digits, "\xff\xfe", "\n"}) {
      CAPTURE(option.name, value.substr(0, 5));
      const Words joined = {"--" + std::string(option.name) + "=" + value, "x.py"};
      const Environment variable = {{variable_name(option.name), value}};
      for (const auto& invocation :
           {parse_invocation(joined, {}, host_with_gpus(0)),
            parse_invocation(Words{"x.py"}, variable, host_with_gpus(0))}) {
        if (invocation) continue;
        const std::string message = invocation.error().error.message();
        CHECK(invocation.error().exit_code == 2);
        CHECK_FALSE(message.empty());
        CHECK(message.size() < 1200);
        CHECK(message.find('\n') == std::string::npos);
      }
    }
  }
}

TEST_CASE("texts are printed instead of launching", "[launch][options]") {
  const auto print = [](const Words& arguments) {
    const auto invocation = parse_invocation(arguments, {}, host_with_gpus(0));
    REQUIRE(invocation);
    return std::get<PrintText>(*invocation).text;
  };
  CHECK_THAT(print({"--help"}), Catch::StartsWith("usage: rankrun"));
  CHECK(print({"-h"}) == print({"--help"}));
  CHECK(print({"-hm", "--nnodes=a"}) == print({"--help"}));
  CHECK_THAT(print({"--version"}), Catch::StartsWith("rankrun "));
  CHECK_THAT(print({"--print-man"}), Catch::StartsWith(".TH RANKRUN 1"));
  CHECK_THAT(print({"--print-completion=bash"}), Catch::Contains("complete -o default"));
  CHECK_THAT(print({"--print-completion", "zsh", "x"}), Catch::StartsWith("#compdef rankrun"));
  CHECK_THAT(refused({"--print-completion=tcsh"}), Catch::EndsWith("use one of bash, zsh"));
}

}  // namespace
}  // namespace rankrun::launch
