// SPDX-License-Identifier: Apache-2.0
// Pure: the report of a job as JSON, for programs (README.md has the schema).
#pragma once

#include "agent/job_report.h"

#include <string>

namespace rankrun::agent {

/// One document, plain ASCII, ended by a newline. Bytes of workers' texts that are no UTF-8 become
/// U+FFFD.
std::string format_json(const JobReport& report);

}  // namespace rankrun::agent
