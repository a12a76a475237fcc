// SPDX-License-Identifier: Apache-2.0
#include "agent/failure_report.h"

#include "agent/errc.h"
#include "store/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>

namespace rankrun::agent {

using base::escape_control;

namespace {

constexpr std::size_t kWidestRule = 60;
constexpr int kSignalBase = 128;  // shells report death by signal n as 128 + n

// torchrun prints a signal as a negative code; scripts look for that.
std::string exit_code_field(const FailureReport& report) {
  if (!report.status.was_signaled()) {
    return fmt::format("{} (pid: {})", report.status.code(), report.pid);
  }
  const int signal = report.status.signal();
  return fmt::format("{} (pid: {})  ({})", -signal, report.pid, signal_name(signal));
}

std::string traceback_field(const FailureReport& report) {
  if (report.status.was_signaled()) {
    const int signal = report.status.signal();
    return fmt::format(
        "Signal {} ({}) received by PID {}", signal, signal_name(signal), report.pid);
  }
  if (!report.error_file.empty()) return "see error_file";
  return report.last_lines.empty() ? "the worker wrote nothing to stderr" : "see its stderr below";
}

bool misses_torch(const FailureReport& report) {
  return std::any_of(report.last_lines.begin(), report.last_lines.end(), [](const auto& line) {
    return line.find("No module named 'torch'") != std::string::npos;
  });
}

}  // namespace

std::string format_failure(const FailureReport& report) {
  const std::vector<std::string> fields = {
      fmt::format("  time      : {}", report.time),
      fmt::format("  host      : {}", report.host),
      fmt::format("  rank      : {} (local_rank: {})", report.rank, report.local_rank),
      fmt::format("  exitcode  : {}", exit_code_field(report)),
      fmt::format("  error_file: {}", report.error_file.empty() ? "<N/A>" : report.error_file),
      fmt::format("  traceback : {}", traceback_field(report)),
  };
  const std::string title = escape_control(report.entry_name) + " FAILED";
  std::size_t width = title.size();
  for (const std::string& field : fields) {
    width = std::max(width, field.size());
  }
  width = std::min(width, kWidestRule);

  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:=<{}}\n{}\n{:-<{}}\n", "", width, title, "", width);
  fmt::format_to(out, "Root Cause (first observed failure):\n[0]:\n");
  for (const std::string& field : fields) {
    fmt::format_to(out, "{}\n", field);
  }
  if (!report.last_lines.empty()) {
    fmt::format_to(out, "{:-<{}}\nLast stderr lines of rank {}:\n", "", width, report.rank);
    for (const std::string& line : report.last_lines) {
      fmt::format_to(out, "  {}\n", escape_control(line));
    }
  }
  if (report.interpreter && misses_torch(report)) {
    fmt::format_to(out,
                   "{:-<{}}\nThe interpreter was {}; to use another, set PYTHON_EXEC to a Python "
                   "that has torch\n",
                   "",
                   width,
                   *report.interpreter);
  }
  fmt::format_to(out, "{:=<{}}\n", "", width);
  return text;
}

std::string describe(const ExitStatus& status) {
  if (!status.was_signaled()) return fmt::format("exited with {}", status.code());
  return fmt::format("was killed by {}{}",
                     signal_name(status.signal()),
                     status.core_dumped() ? " (core dumped)" : "");
}

std::string signal_name(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  if (abbreviation == nullptr) return fmt::format("signal {}", signal);
  return fmt::format("SIG{}", abbreviation);
}

int exit_code(const Ending& ending) {
  if (ending.stop_signal) return kSignalBase + *ending.stop_signal;
  if (ending.error) return exit_code(*ending.error);
  if (!ending.failure) return 0;
  const ExitStatus& status = ending.failure->status;
  return status.was_signaled() ? kSignalBase + status.signal() : status.code();
}

int exit_code(const base::Error& error) {
  if (error.code == errc::program_not_found) return 127;
  if (error.code == errc::program_not_executable) return 126;
  return 1;
}

}  // namespace rankrun::agent
