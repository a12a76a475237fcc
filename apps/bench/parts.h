// SPDX-License-Identifier: Apache-2.0
// A benchmark is a list of parts that are measured one after the other and give rows. Here is what
// the parts of all benchmarks share.
#pragma once

#include "apps/bench/launchers.h"
#include "apps/bench/options.h"
#include "apps/bench/report.h"
#include "apps/bench/workplace.h"
#include "store/base/clock.h"
#include "store/base/result.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rankrun::bench {

/// What is measured, and where.
struct Bench {
  const Workplace& place;
  const Launchers& launchers;
};

using Rows = std::vector<Row>;

struct Part {
  std::string name;
  std::function<base::Result<Rows>(const Bench&)> measure;
};

/// One part that fails does not hinder the next; a signal to stop does.
Report run_parts(std::string benchmark,
                 const CommonOptions& options,
                 const std::vector<Part>& parts);

/// Why torchrun's figure, or that of its PyTorch, is missing.
inline constexpr const char* kNoTorchrun = "no torchrun found: run deploy/test.sh --peers";

/// A row of now, with the present load.
Row row(std::string what, Unit unit, double figure, std::optional<Bar> bar = {});

/// The row compared with torchrun's figure; without torchrun it says why it is not.
Row beside_torchrun(Row row, const std::string& how, std::optional<double> figure);

double milliseconds(base::Duration time);
double microseconds(base::Duration time);
double mebibytes(double bytes);

}  // namespace rankrun::bench
