// SPDX-License-Identifier: Apache-2.0
// Pure: what helps against the failures that users meet most.
#pragma once

#include "agent/job_report.h"

#include <string>
#include <vector>

namespace rankrun::agent {

/// One line each, first those about the root cause; none is said twice.
std::vector<std::string> hints(const JobReport& report);

}  // namespace rankrun::agent
