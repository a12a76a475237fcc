// SPDX-License-Identifier: Apache-2.0
#include "agent/job_report.h"

#include "agent/hang_report.h"
#include "agent/restart_policy.h"
#include "agent/text_limits.h"
#include "store/base/assert.h"
#include "store/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace rankrun::agent {

namespace {

constexpr std::size_t kMostWords = 512;
constexpr std::string_view kTraceback = "Traceback (most recent call last)";

// The frames of a Python traceback are indented; its first line that is not names the exception.
std::string exception_of(const std::vector<std::string>& lines) {
  const auto last = std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) {
    return line.find(kTraceback) != std::string::npos;
  });
  const auto exception = std::find_if(last.base(), lines.end(), [](const std::string& line) {
    return !line.empty() && line.front() != ' ';
  });
  return last == lines.rend() || exception == lines.end() ? std::string() : *exception;
}

std::string last_words(const std::vector<std::string>& lines) {
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (const auto words = base::trimmed(*line); !words.empty()) return std::string(words);
  }
  return {};
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string describe(const OutOfMemory& facts) {
  std::string text = "out of memory, killed by the kernel: ";
  text += facts.limit ? "limit " + mebibytes(*facts.limit) : "no limit of its cgroup, of the host";
  if (facts.peak) text += ", peak " + mebibytes(*facts.peak);
  return text;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

WorkerOutcome WorkerReport::outcome() const {
  if (!end) return WorkerOutcome::not_ended;
  const ExitStatus& status = end->status;
  if (!end->stop_signal) {
    return status.success() ? WorkerOutcome::succeeded : WorkerOutcome::failed;
  }
  const bool as_told = status.success() || ended_by(status, *end->stop_signal);
  return as_told ? WorkerOutcome::stopped : WorkerOutcome::failed;
}

std::optional<int> decisive_signal(const ExitStatus& status, const std::vector<int>& sent) {
  if (sent.empty()) return std::nullopt;
  const auto found = std::find_if(
      sent.begin(), sent.end(), [&status](int signal) { return ended_by(status, signal); });
  return found == sent.end() ? sent.back() : *found;
}

bool WorkerReport::ran_out_of_memory() const {
  return memory_kill && outcome() == WorkerOutcome::failed && ended_by(end->status, SIGKILL);
}

std::string WorkerReport::own_words() const {
  if (ran_out_of_memory()) return describe(*memory_kill);
  if (!expired_timer.empty()) return expired_timer;
  if (error_file && error_file->error) {
    return start_of(first_line(error_file->error->message), kMostWords);
  }
  const std::string exception = exception_of(last_lines);
  return start_of(exception.empty() ? last_words(last_lines) : exception, kMostWords);
}

JobResult JobReport::result() const {
  if (ending.stop_signal) return JobResult::stopped;
  if (ending.error) return JobResult::error;
  return ending.failure || ending.hang ? JobResult::failed : JobResult::succeeded;
}

const WorkerReport* JobReport::root_cause() const {
  if (!ending.failure) return nullptr;
  const auto found = std::find_if(workers.begin(), workers.end(), [this](const auto& worker) {
    return worker.local_rank == ending.failure->local_rank;
  });
  return found == workers.end() ? nullptr : &*found;
}

std::string JobReport::why_early() const {
  if (same_failures == 0) return {};
  return fmt::format("the same failure has ended {} {} within {} s each (--max-same-failure)",
                     same_failures,
                     same_failures == 1 ? "attempt" : "attempts in a row",
                     SameFailures::kSoon.count());
}

std::string JobReport::reason() const {
  if (ending.stop_signal) return "rankrun got " + signal_name(*ending.stop_signal);
  if (ending.error) return ending.error->message();
  if (ending.hang) return "on " + job.host + ", " + describe(*ending.hang, first_rank);
  const WorkerReport* root = root_cause();
  if (root == nullptr) return {};
  const std::string early = why_early();
  return describe(*root, job.host) + (early.empty() ? "" : "; " + early);
}

std::string_view name(WorkerOutcome outcome) {
  switch (outcome) {
    case WorkerOutcome::succeeded:
      return "succeeded";
    case WorkerOutcome::failed:
      return "failed";
    case WorkerOutcome::stopped:
      return "stopped";
    case WorkerOutcome::not_ended:
      break;
  }
  return "not_ended";
}

std::string_view name(JobResult result) {
  switch (result) {
    case JobResult::succeeded:
      return "succeeded";
    case JobResult::failed:
      return "failed";
    case JobResult::stopped:
      return "stopped";
    case JobResult::error:
      break;
  }
  return "error";
}

std::string describe(const WorkerReport& worker, const std::string& host) {
  RANKRUN_ASSERT(worker.end);
  std::string text = fmt::format("rank {} (local rank {}, pid {}) on {} {}",
                                 worker.rank,
                                 worker.local_rank,
                                 worker.pid,
                                 host,
                                 describe(worker.end->status));
  if (const std::string words = worker.own_words(); !words.empty()) {
    text += ": " + base::escape_control(words);
  }
  return text;
}

}  // namespace rankrun::agent
