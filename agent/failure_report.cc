// SPDX-License-Identifier: Apache-2.0
#include "agent/failure_report.h"

#include "agent/hang_report.h"
#include "agent/hints.h"
#include "agent/rank_ranges.h"
#include "agent/text_limits.h"
#include "store/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <map>
#include <utility>

namespace rankrun::agent {

using base::escape_control;

namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kWidestRule = 60;

std::string local_time(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d_%H:%M:%S", &parts)};
}

// torchrun prints a signal as a negative code; scripts look for that.
std::string exit_code_field(const WorkerReport& worker) {
  const ExitStatus& status = worker.end->status;
  std::string text = fmt::format("{} (pid: {})", torchrun_code(status), worker.pid);
  if (status.was_signaled()) text += fmt::format("  ({})", signal_name(status.signal()));
  if (status.core_dumped()) text += " (core dumped)";
  if (const auto signal = worker.end->stop_signal) {
    text += fmt::format(", after {} from rankrun", signal_name(*signal));
  }
  return text;
}

std::string signal_or_stderr(const WorkerReport& worker) {
  if (worker.end->status.was_signaled()) {
    const int signal = worker.end->status.signal();
    return fmt::format(
        "Signal {} ({}) received by PID {}", signal, signal_name(signal), worker.pid);
  }
  return worker.last_lines.empty() ? "the worker wrote nothing to stderr" : "see its stderr below";
}

Lines traceback_field(const WorkerReport& worker) {
  if (!worker.error_file) return {signal_or_stderr(worker)};
  const auto& error = worker.error_file->error;
  if (!error) return {"error file is not valid: " + worker.error_file->invalid};
  const std::string& text = error->call_stack.empty() ? error->message : error->call_stack;
  return shown_lines(split_lines(text), kMostErrorText);
}

// A field whose further lines are indented by two, as torchrun's.
void add_field(Lines& block, std::string_view name, const Lines& values) {
  const std::string empty;
  for (std::size_t i = 0; i < std::max<std::size_t>(values.size(), 1); ++i) {
    const std::string& value = values.empty() ? empty : values[i];
    block.push_back(i == 0 ? fmt::format("  {:<10}: {}", name, value) : "  " + value);
  }
}

Lines describe_block(const WorkerReport& worker, std::size_t index, const std::string& host) {
  Lines block{fmt::format("[{}]:", index)};
  const auto add = [&block](std::string_view name, std::string value) {
    add_field(block, name, Lines{std::move(value)});
  };
  add("time", local_time(worker.end->time));
  add("host", escape_control(host));
  add("rank", fmt::format("{} (local_rank: {})", worker.rank, worker.local_rank));
  add("exitcode", exit_code_field(worker));
  const std::string words = escape_control(worker.own_words());
  if (!words.empty()) add("message", words);
  add("error_file", worker.error_file ? escape_control(worker.error_file->path) : "<N/A>");
  add_field(block, "traceback", traceback_field(worker));
  if (!worker.last_lines.empty()) {
    Lines tail{"its last lines"};
    for (const std::string& line : shown_lines(worker.last_lines, kMostErrorText)) {
      tail.push_back("  " + line);
    }
    add_field(block, "stderr", tail);
  }
  return block;
}

Lines other_failures(const JobReport& report, const WorkerReport* root) {
  Lines lines{"Failures:"};
  std::size_t described = 1;  // the root cause
  std::vector<int> not_described;
  for (const WorkerReport& worker : report.workers) {
    if (&worker == root || worker.outcome() != WorkerOutcome::failed) continue;
    if (described == kMostDescribed) {
      not_described.push_back(worker.rank);
      continue;
    }
    const Lines block = describe_block(worker, described++, report.job.host);
    lines.insert(lines.end(), block.begin(), block.end());
  }
  if (described == 1) lines.emplace_back("  <NO_OTHER_FAILURES>");
  if (!not_described.empty()) {
    const std::size_t count = not_described.size();
    lines.push_back(fmt::format("and {} more: {}", count, format_ranks(std::move(not_described))));
  }
  return lines;
}

Lines not_failed(const JobReport& report) {
  std::map<int, std::vector<int>> stopped;  // ranks by signal
  std::vector<int> not_ended;
  for (const WorkerReport& worker : report.workers) {
    const WorkerOutcome outcome = worker.outcome();
    if (outcome == WorkerOutcome::stopped) stopped[*worker.end->stop_signal].push_back(worker.rank);
    if (outcome == WorkerOutcome::not_ended) not_ended.push_back(worker.rank);
  }
  Lines lines;
  for (auto& [signal, ranks] : stopped) {
    lines.push_back(fmt::format(
        "stopped by rankrun ({}): {}", signal_name(signal), format_ranks(std::move(ranks))));
  }
  if (!not_ended.empty()) {
    lines.push_back("still there after SIGKILL: " + format_ranks(std::move(not_ended)));
  }
  return lines;
}

Lines hang_block(const JobReport& report) {
  Lines block{"[0]:"};
  add_field(block, "host", {escape_control(report.job.host)});
  add_field(block, "hang", {describe(*report.ending.hang, report.first_rank)});
  return block;
}

Lines root_section(const JobReport& report, const WorkerReport* root) {
  Lines lines = root != nullptr ? describe_block(*root, 0, report.job.host) : hang_block(report);
  lines.insert(lines.begin(), "Root Cause (first observed failure):");
  return lines;
}

Lines early_end(const JobReport& report) {
  if (report.same_failures == 0) return {};
  return {"restarts left: " + std::to_string(report.job.max_restarts - report.restarts),
          report.why_early()};
}

Lines hint_lines(const JobReport& report) {
  Lines lines;
  for (const std::string& hint : hints(report)) {
    lines.push_back("hint: " + escape_control(hint));
  }
  return lines;
}

std::size_t rule_width(const std::vector<Lines>& sections) {
  std::size_t width = 0;
  for (const Lines& section : sections) {
    for (const std::string& line : section) {
      width = std::max(width, line.size());
    }
  }
  return std::min(width, kWidestRule);
}

}  // namespace

std::string format_failure(const JobReport& report) {
  const WorkerReport* root = report.root_cause();
  if (root == nullptr && !report.ending.hang) return {};
  std::vector<Lines> sections{{escape_control(report.job.program) + " FAILED"},
                              other_failures(report, root),
                              not_failed(report),
                              root_section(report, root),
                              early_end(report),
                              hint_lines(report)};
  std::erase_if(sections, [](const Lines& section) { return section.empty(); });

  const std::size_t width = rule_width(sections);
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:=<{}}\n", "", width);
  for (const Lines& section : sections) {
    if (&section != &sections.front()) fmt::format_to(out, "{:-<{}}\n", "", width);
    fmt::format_to(out, "{}\n", fmt::join(section, "\n"));
  }
  fmt::format_to(out, "{:=<{}}\n", "", width);
  return text;
}

}  // namespace rankrun::agent
