// SPDX-License-Identifier: Apache-2.0
#include "agent/report_delivery.h"

#include "agent/failure_report.h"
#include "agent/report_json.h"
#include "agent/whole_file.h"

#include <unistd.h>

#include <string>

namespace rankrun::agent {

using base::Result;

namespace {

// What the launcher above us shall read: as torchrun's, the file of the root cause, or our own when
// the reason is ours. An empty text: nothing.
Result<std::string> text_for_parent(const JobReport& report) {
  if (report.result() != JobResult::failed || report.ending.hang) {
    return launcher_error_file(report.reason(), report.job.started_at + report.took);
  }
  const WorkerReport* root = report.root_cause();
  if (root == nullptr || !root->error_file || !root->error_file->error) return std::string();
  return error_file_for_parent(root->error_file->path, torchrun_code(root->end->status));
}

Result<void> tell_parent(const JobReport& report,
                         const std::string& path,
                         const base::Logger& log) {
  const auto text = text_for_parent(report);
  if (!text) return base::failure(text.error().within("cannot forward a worker's error file"));
  if (text->empty()) return {};
  if (::access(path.c_str(), F_OK) == 0) {
    log->warn("TORCHELASTIC_ERROR_FILE={} is there already: overwriting it", path);
  }
  return write_whole_file(path, *text);
}

}  // namespace

void deliver(const JobReport& report,
             const LaunchConfig& config,
             Console& console,
             const base::Logger& log) {
  const auto warn_of = [&log](const Result<void>& result) {
    if (!result) log->warn("{}", result.error().message());
  };
  console.write_line(format_failure(report));
  if (report.ending.error) log->error("{}", report.ending.error->message());
  if (config.report_file) warn_of(write_whole_file(*config.report_file, format_json(report)));
  const std::string parent = value_of(config.environment, "TORCHELASTIC_ERROR_FILE").value_or("");
  if (!parent.empty() && report.result() != JobResult::succeeded) {
    warn_of(tell_parent(report, parent, log));
  }
}

}  // namespace rankrun::agent
