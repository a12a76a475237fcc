// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/output_options.h"

#include "tests/apps/launch_case.h"

namespace rankrun::launch {
namespace {

using agent::Streams;
using agent::StreamSelection;
using Ranks = std::set<int>;

TEST_CASE("streams are selected for every worker or by local rank", "[launch][output]") {
  CHECK(config({}).output == agent::OutputConfig{});
  CHECK(config({"-r3"}).output.redirects == StreamSelection{Streams::both, {}});
  CHECK(config({"--tee", "1"}).output.tee == StreamSelection{Streams::out, {}});
  CHECK(config({"--tee=0"}).output.tee.empty());
  CHECK(config({"-t", "0:1,12:3"}).output.tee ==
        StreamSelection{Streams::none, {{0, Streams::out}, {12, Streams::both}}});
  CHECK(config({"-r=0:1,0:2"}).output.redirects ==
        StreamSelection{Streams::none, {{0, Streams::err}}});
  CHECK(config({"-r0:1"}).output.tee.empty());
  for (const auto* option : {"--redirects=", "--tee="}) {
    for (const auto* value : {"",
                              " ",
                              "4",
                              "-1",
                              "33",
                              "a",
                              "0:4",
                              "0:",
                              ":1",
                              "0:1,",
                              ",",
                              "0:1:2",
                              " 0:1",
                              "+0:1",
                              "0 :1",
                              "-1:1",
                              "3,0:1",
                              "\xff"}) {
      CAPTURE(value);
      CHECK_THAT(refused({std::string(option) + value}),
                 Catch::StartsWith(option) && Catch::EndsWith("as 0:1,12:3"));
    }
  }
}

TEST_CASE("a filter of ranks is a list of integers", "[launch][output]") {
  const auto ranks = [](const std::string& text) {
    return config({"--local-ranks-filter=" + text}).output.console_ranks;
  };
  CHECK(ranks("") == std::nullopt);
  CHECK(ranks("0,2") == Ranks{0, 2});
  CHECK(ranks(" 0 , +1_1") == Ranks{0, 11});
  CHECK(ranks("-1") == Ranks{-1});
  CHECK(ranks("99999999999999999999") == Ranks{2147483647});
  for (const auto* text : {"0,", ",", "a", "0;1", "1.5", " "}) {
    CHECK_THAT(refused({std::string("--local-ranks-filter=") + text}),
               Catch::EndsWith("use whole numbers and commas, as 0,1,2"));
  }
}

TEST_CASE("filters are texts between commas, and two commas are one in a text",
          "[launch][output]") {
  const auto filters = [](const std::string& text) {
    const auto made = config({"--duplicate-stdout-filters=" + text}).output;
    CHECK(made.stderr_filters.empty());
    return made.stdout_filters;
  };
  CHECK(filters("").empty());
  CHECK(filters("apple") == Words{"apple"});
  CHECK(filters("apple, orange") == Words{"apple", " orange"});
  CHECK(filters("a,,b") == Words{"a,b"});
  CHECK(filters("apple,,,orange") == Words{"apple,", "orange"});
  CHECK(filters(",,") == Words{","});
  CHECK(filters(",,,") == Words{",", ""});
  CHECK(filters("apple,") == Words{"apple", ""});
  CHECK(config({}, {{"PET_DUPLICATE_STDERR_FILTERS", "a,b"}}).output.stderr_filters ==
        Words{"a", "b"});
}

TEST_CASE("the prefix of a line comes from the option, else from the variable",
          "[launch][output]") {
  constexpr auto kVariable = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE";
  CHECK(config({}).output.line_prefix == "[${role_name}${local_rank}]:");
  CHECK(config({}, {{kVariable, "v"}}).output.line_prefix == "v");
  CHECK(config({}, {{kVariable, ""}}).output.line_prefix == "[${role_name}${local_rank}]:");
  CHECK(config({"--log-line-prefix-template=o"}, {{kVariable, "v"}}).output.line_prefix == "o");
  CHECK(config({"--log-line-prefix-template="}, {{kVariable, "v"}}).output.line_prefix == "v");
}

TEST_CASE("logs, reports and events go where they are told to", "[launch][output]") {
  const agent::LaunchConfig bare = config({});
  CHECK(bare.log_dir == std::nullopt);
  CHECK(bare.report_file == std::nullopt);
  CHECK(bare.events_file == std::nullopt);
  CHECK(config({"--log-dir=/logs"}).log_dir == "/logs");
  CHECK(config({"--log-dir="}).log_dir == std::nullopt);
  CHECK(config({"--report=r.json"}).report_file == "r.json");
  CHECK(config({"--events", "-"}).events_file == "-");
  CHECK(config({"--fold"}).output.fold);
  CHECK(refused({"--report="}) == "--report=: invalid value; name a file");
  CHECK(refused({}, {{"PET_EVENTS", ""}}) == "PET_EVENTS=: invalid value; name a file");
}

TEST_CASE("torchrun's events go to the console or nowhere", "[launch][output]") {
  CHECK_FALSE(config({}).events_on_console);
  CHECK_FALSE(config({"--event-log-handler=null"}).events_on_console);
  CHECK_FALSE(config({"--event-log-handler=dynamic_rendezvous"}).events_on_console);
  CHECK(config({"--event-log-handler=console"}).events_on_console);
  for (const auto* value : {"", "foo", "CONSOLE"}) {
    CHECK_THAT(refused({std::string("--event-log-handler=") + value}),
               Catch::EndsWith("use console or null or dynamic_rendezvous"));
  }
}

TEST_CASE("a plug-in for logs is refused with what to use", "[launch][output]") {
  CHECK_THAT(refused({"--logs-specs=x"}), Catch::EndsWith("use --redirects, --tee and --log-dir"));
}

}  // namespace
}  // namespace rankrun::launch
