// SPDX-License-Identifier: Apache-2.0
// Brings the report of a job to all who want it: a person, a program (--report), and the launcher
// that started this one (TORCHELASTIC_ERROR_FILE).
#pragma once

#include "agent/config.h"
#include "agent/console.h"
#include "agent/job_report.h"
#include "store/base/log.h"

namespace rankrun::agent {

/// What cannot be delivered costs one line on the log and nothing else.
void deliver(const JobReport& report,
             const LaunchConfig& config,
             Console& console,
             const base::Logger& log);

}  // namespace rankrun::agent
