// SPDX-License-Identifier: Apache-2.0
// Pure: the report of a failed job as the text a person reads, laid out as torchrun's.
#pragma once

#include "agent/job_report.h"

#include <cstddef>
#include <string>

namespace rankrun::agent {

/// How many failed workers are described in full; the others are only named.
inline constexpr std::size_t kMostDescribed = 16;

/// The final block, many lines, each ended by a newline; empty when no worker was its cause. What
/// workers wrote is shown with control characters escaped, at most kMostErrorText bytes of each
/// text.
std::string format_failure(const JobReport& report);

}  // namespace rankrun::agent
