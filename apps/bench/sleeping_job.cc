// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/sleeping_job.h"

#include "apps/bench/wait.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <utility>

namespace rankrun::bench {

using base::Clock;
using base::failure;
using base::Result;
using base::TimePoint;
using base::UniqueFd;

namespace {

// torchrun takes 2 s on an idle machine.
constexpr base::Duration kReportLimit = std::chrono::seconds(60);

// The workers get no descriptors of ours, but they can open ours; nothing has to be on disk. "$$"
// is how one "$" is written in an argument of torchrun and rankrun.
std::vector<std::string> job_words(const std::string& launcher,
                                   const JobShape& shape,
                                   int report_fd) {
  return {launcher,
          fmt::format("--nproc-per-node={}", shape.workers),
          fmt::format("--max-restarts={}", shape.max_restarts),
          "--no-python",
          "/bin/sh",
          "-c",
          fmt::format(
              "echo \"$$RANK $$$$\" >/proc/{}/fd/{}; exec sleep 1000000", ::getpid(), report_fd)};
}

}  // namespace

SleepingJob::SleepingJob(std::string name, UniqueFd reports, UniqueFd write_end, Program program)
    : name_(std::move(name)),
      reports_(std::move(reports)),
      write_end_(std::move(write_end)),
      program_(std::move(program)) {}

Result<SleepingJob> SleepingJob::start(const Launcher& launcher,
                                       const Workplace& place,
                                       const JobShape& shape) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::errno_failure(errno, "cannot make a pipe");
  UniqueFd reports(ends[0]);
  UniqueFd write_end(ends[1]);
  Result<Program> program =
      Program::start(place.command(job_words(launcher.path, shape, write_end.get())));
  if (!program) return failure(std::move(program.error()));
  SleepingJob job(launcher.name, std::move(reports), std::move(write_end), std::move(*program));
  job.workers_.assign(static_cast<std::size_t>(shape.workers), 0);
  if (auto reported = job.await_reports(); !reported) return failure(std::move(reported.error()));
  return job;
}

Result<base::Duration> SleepingJob::kill_and_restart() {
  const TimePoint killed = Clock::now();
  if (::kill(workers_[1], SIGKILL) != 0) return base::errno_failure(errno, "cannot kill a worker");
  std::fill(workers_.begin(), workers_.end(), 0);
  if (auto reported = await_reports(); !reported) return failure(std::move(reported.error()));
  return Clock::now() - killed;
}

Result<void> SleepingJob::await_reports() {
  const TimePoint deadline = Clock::now() + kReportLimit;
  while (std::count(workers_.begin(), workers_.end(), 0) > 0) {
    const Result<std::string> line = next_line(deadline);
    if (!line) return failure(line.error().within("waiting for the workers of " + name_));
    std::istringstream words(*line);
    std::size_t rank = 0;
    pid_t pid = 0;
    const bool whole = static_cast<bool>(words >> rank >> pid);
    if (!whole || rank >= workers_.size() || pid <= 1 || workers_[rank] != 0) {
      return failure({}, fmt::format("unexpected report '{}' of a worker of {}", *line, name_));
    }
    workers_[rank] = pid;
  }
  return {};
}

Result<std::string> SleepingJob::next_line(TimePoint deadline) {
  for (;;) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (auto ready = wait_readable(reports_.get(), deadline); !ready) {
      return failure(std::move(ready.error()));
    }
    std::array<char, 256> buffer{};
    const ssize_t size = ::read(reports_.get(), buffer.data(), buffer.size());
    if (size <= 0) return base::errno_failure(errno, "reading a report");
    received_.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace rankrun::bench
