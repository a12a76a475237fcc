// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace rankrun::bench {
namespace {

Row row_with(double figure, std::optional<double> peer, std::optional<Bar> bar) {
  Row row;
  row.what = "launch";
  row.figure = figure;
  if (peer) row.peer = Peer{"torchrun", *peer};
  row.bar = bar;
  return row;
}

TEST_CASE("a bar is judged by its kind, and its limit is inside", "[bench][report]") {
  const Bar at_most{Bar::Kind::at_most, 8};
  CHECK(verdict(row_with(8, {}, at_most)) == Verdict::met);
  CHECK(verdict(row_with(8.1, {}, at_most)) == Verdict::missed);
  const Bar below{Bar::Kind::times_below_peer, 100};
  CHECK(verdict(row_with(10, 1000, below)) == Verdict::met);
  CHECK(verdict(row_with(10, 999, below)) == Verdict::missed);
  const Bar above{Bar::Kind::at_most_times_peer, 8};
  CHECK(verdict(row_with(8, 1, above)) == Verdict::met);
  CHECK(verdict(row_with(8.1, 1, above)) == Verdict::missed);
  CHECK(verdict(row_with(8, {}, below)) == Verdict::unknown);
  CHECK(verdict(row_with(8, 1, {})) == Verdict::no_bar);
}

Report example() {
  Report report;
  report.benchmark = "launch";
  report.machine = {"Some CPU", 2, "Linux 6"};
  report.programs = {{"rankrun", "rankrun 0.1.0", "/bin/rankrun"}};
  report.rows = {row_with(2.5, 1000, Bar{Bar::Kind::times_below_peer, 100}),
                 row_with(9, {}, Bar{Bar::Kind::at_most, 8})};
  report.rows[1].note = "no torchrun found";
  report.failures = {"idle jobs: gone"};
  return report;
}

TEST_CASE("the table shows figure, peer, ratio, bar and verdict", "[bench][report]") {
  const std::string table = to_table(example());
  CHECK_THAT(table, Catch::Contains("Some CPU, 2 cores, Linux 6"));
  CHECK_THAT(table,
             Catch::Contains("2.50 ms") && Catch::Contains("torchrun 1000 ms") &&
                 Catch::Contains("400x less") && Catch::Contains(">= 100x less") &&
                 Catch::Contains("met\n"));
  CHECK_THAT(table, Catch::Contains("MISSED; no torchrun found\n"));
  CHECK_THAT(table, Catch::Contains("not measured: idle jobs: gone\n"));
}

TEST_CASE("the JSON has the same figures", "[bench][report]") {
  const auto json = nlohmann::json::parse(to_json(example()));
  CHECK(json["machine"]["cores"] == 2);
  CHECK(json["rows"][0]["figure"] == 2.5);
  CHECK(json["rows"][0]["peer_by_figure"] == 400);
  CHECK(json["rows"][0]["verdict"] == "met");
  CHECK(json["rows"][1]["peer"].is_null());
  CHECK(json["rows"][1]["verdict"] == "missed");
  CHECK(json["failures"][0] == "idle jobs: gone");
}

}  // namespace
}  // namespace rankrun::bench
