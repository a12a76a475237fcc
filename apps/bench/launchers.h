// SPDX-License-Identifier: Apache-2.0
// Which rankrun and which torchrun are measured.
#pragma once

#include "apps/bench/options.h"
#include "apps/bench/report.h"
#include "apps/bench/workplace.h"
#include "store/base/result.h"

#include <optional>

namespace rankrun::bench {

using Launcher = MeasuredProgram;

struct Launchers {
  Launcher rankrun;
  std::optional<Launcher> torchrun;  ///< nothing: none was named and none is at the default place
};

/// Fails when there is no rankrun, or a launcher cannot be run.
base::Result<Launchers> find_launchers(const CommonOptions& options, const Workplace& place);

}  // namespace rankrun::bench
