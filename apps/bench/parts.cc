// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/parts.h"

#include "apps/bench/wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <utility>

namespace rankrun::bench {

using base::Result;

namespace {

void measure(const std::vector<Part>& parts, const Bench& bench, Report& report) {
  for (const Part& part : parts) {
    std::fprintf(stderr, "rankbench: measuring %s\n", part.name.c_str());
    Result<Rows> rows = part.measure(bench);
    if (rows) {
      std::move(rows->begin(), rows->end(), std::back_inserter(report.rows));
      continue;
    }
    report.failures.push_back(rows.error().within(part.name).message());
    if (was_interrupted(rows.error())) return;
  }
}

}  // namespace

Report run_parts(std::string benchmark,
                 const CommonOptions& options,
                 const std::vector<Part>& parts) {
  Report report;
  report.benchmark = std::move(benchmark);
  report.machine = describe_machine();
  const InterruptibleWaits interruptible;
  const Result<Workplace> place = Workplace::open(options.environment);
  if (!place) {
    report.failures.push_back(place.error().message());
    return report;
  }
  const Result<Launchers> launchers = find_launchers(options, *place);
  if (!launchers) {
    report.failures.push_back(launchers.error().message());
    return report;
  }
  report.programs.push_back(launchers->rankrun);
  if (launchers->torchrun) report.programs.push_back(*launchers->torchrun);
  measure(parts, {*place, *launchers}, report);
  return report;
}

Row row(std::string what, Unit unit, double figure, std::optional<Bar> bar) {
  return {.what = std::move(what),
          .unit = unit,
          .figure = figure,
          .peer = {},
          .bar = bar,
          .load = load_average(),
          .note = {}};
}

Row beside_torchrun(Row row, const std::string& how, std::optional<double> figure) {
  if (figure) {
    row.peer = Peer{fmt::format("torchrun{}", how), *figure};
  } else {
    row.note = kNoTorchrun;
  }
  return row;
}

double milliseconds(base::Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double microseconds(base::Duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

double mebibytes(double bytes) {
  constexpr double kMebibyte = 1024 * 1024;
  return bytes / kMebibyte;
}

}  // namespace rankrun::bench
