// SPDX-License-Identifier: Apache-2.0
#include "agent/failure_report.h"

#include "tests/support/job_reports.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <regex>

namespace rankrun::agent {
namespace {

using Catch::Contains;
using tests::ended_worker;
using tests::failed_job;
using tests::failed_worker;

// The time of day depends on where the test runs.
std::string block(const JobReport& report) {
  static const std::regex time(R"(\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d)");
  return std::regex_replace(format_failure(report), time, "2023-11-14_22:13:20");
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST_CASE("the final block has torchrun's structure", "[agent][report]") {
  CHECK(block(failed_job({ended_worker(5, ExitStatus::signaled(SIGSEGV, true))})) ==
        "======================================================\n"
        "train.py FAILED\n"
        "------------------------------------------------------\n"
        "Failures:\n"
        "  <NO_OTHER_FAILURES>\n"
        "------------------------------------------------------\n"
        "Root Cause (first observed failure):\n"
        "[0]:\n"
        "  time      : 2023-11-14_22:13:20\n"
        "  host      : node7\n"
        "  rank      : 5 (local_rank: 5)\n"
        "  exitcode  : -11 (pid: 4005)  (SIGSEGV) (core dumped)\n"
        "  error_file: <N/A>\n"
        "  traceback : Signal 11 (SIGSEGV) received by PID 4005\n"
        "======================================================\n");
}

TEST_CASE("all failed workers are listed, the first cause last", "[agent][report]") {
  JobReport report = failed_job({failed_worker(2, 3, {"first", "loss is NaN"}),
                                 failed_worker(0, 1, {"peer is gone"}),
                                 ended_worker(1, ExitStatus::signaled(SIGTERM, false), SIGTERM),
                                 ended_worker(3, ExitStatus::exited(0), SIGTERM),
                                 ended_worker(4, ExitStatus::signaled(SIGKILL, false), SIGKILL),
                                 ended_worker(5, ExitStatus::exited(0))});
  report.workers[1].end->stop_signal = SIGTERM;
  CHECK(block(report) ==
        "=======================================================\n"
        "train.py FAILED\n"
        "-------------------------------------------------------\n"
        "Failures:\n"
        "[1]:\n"
        "  time      : 2023-11-14_22:13:20\n"
        "  host      : node7\n"
        "  rank      : 0 (local_rank: 0)\n"
        "  exitcode  : 1 (pid: 4000), after SIGTERM from rankrun\n"
        "  message   : peer is gone\n"
        "  error_file: <N/A>\n"
        "  traceback : see its stderr below\n"
        "  stderr    : its last lines\n"
        "    peer is gone\n"
        "-------------------------------------------------------\n"
        "stopped by rankrun (SIGKILL): rank 4\n"
        "stopped by rankrun (SIGTERM): ranks 1,3\n"
        "-------------------------------------------------------\n"
        "Root Cause (first observed failure):\n"
        "[0]:\n"
        "  time      : 2023-11-14_22:13:20\n"
        "  host      : node7\n"
        "  rank      : 2 (local_rank: 2)\n"
        "  exitcode  : 3 (pid: 4002)\n"
        "  message   : loss is NaN\n"
        "  error_file: <N/A>\n"
        "  traceback : see its stderr below\n"
        "  stderr    : its last lines\n"
        "    first\n"
        "    loss is NaN\n"
        "=======================================================\n");
}

TEST_CASE("the call stack of an error file is shown, indented", "[agent][report]") {
  JobReport report = failed_job({failed_worker(1, 1, {})});
  report.workers[0].error_file = ErrorFile{
      "/logs/error.json", WorkerError{"ValueError: 3", "Traceback:\n  File\nValueError: 3\n"}, ""};
  CHECK_THAT(block(report),
             Contains("  message   : ValueError: 3\n"
                      "  error_file: /logs/error.json\n"
                      "  traceback : Traceback:\n    File\n  ValueError: 3\n=="));
  report.workers[0].error_file->error = WorkerError{"one\ntwo", ""};
  CHECK_THAT(block(report), Contains("  traceback : one\n  two\n=="));
}

TEST_CASE("a broken error file is named with the reason", "[agent][report]") {
  JobReport report = failed_job({failed_worker(1, 1, {"last words"})});
  report.workers[0].error_file = ErrorFile{"/logs/error.json", {}, "it is empty"};
  CHECK_THAT(block(report),
             Contains("  error_file: /logs/error.json\n"
                      "  traceback : error file is not valid: it is empty\n"
                      "  stderr    : its last lines\n    last words\n"));
}

TEST_CASE("a worker that outlives SIGKILL is named", "[agent][report]") {
  JobReport report = failed_job({failed_worker(1, 1, {})});
  report.workers.emplace_back().rank = 7;
  CHECK_THAT(block(report), Contains("still there after SIGKILL: rank 7\n"));
}

TEST_CASE("hints end the block", "[agent][report]") {
  CHECK_THAT(block(failed_job({failed_worker(1, 1, {"CUDA out of memory"})})),
             Contains("-\nhint: the GPU is out of memory") && Catch::EndsWith("=\n"));
}

TEST_CASE("hostile text is escaped and bounded", "[agent][report]") {
  const std::string evil = "\x1b[2J\x07\xff\r\n" + std::string(1 << 16, '\x1b');
  JobReport report = failed_job({failed_worker(1, 1, {evil, evil})});
  report.job.program = evil.substr(0, 10);
  report.job.host = "\x1bhost";
  report.workers[0].error_file = ErrorFile{"/\x1b", WorkerError{evil, evil}, ""};
  const std::string text = format_failure(report);
  CHECK(text.find_first_of("\x1b\x07\r\xff") == std::string::npos);
  CHECK(text.size() < 4 * kMostErrorText);
  CHECK_THAT(text, Contains("  host      : \\x1bhost\n"));
}

TEST_CASE("of many failures the first ones are described and the others named", "[agent][report]") {
  std::vector<WorkerReport> workers;
  workers.reserve(20);
  for (int rank = 0; rank < 20; ++rank) {
    workers.push_back(failed_worker(rank, 1, {}));
  }
  JobReport report = failed_job(workers);
  CHECK(count(block(report), "  exitcode  : ") == kMostDescribed);
  CHECK_THAT(block(report), Contains("[15]:\n") && Contains("and 4 more: ranks 16-19\n"));
  report.workers.resize(kMostDescribed);
  CHECK_THAT(block(report), Contains("[15]:\n") && !Contains(" more:"));
}

TEST_CASE("a hang is the root cause, and who failed while being stopped is named beside it",
          "[agent][report]") {
  JobReport report = failed_job({ended_worker(0, ExitStatus::signaled(SIGTERM, false), SIGTERM),
                                 ended_worker(1, ExitStatus::exited(5), SIGTERM)});
  report.ending.failure.reset();
  report.ending.hang = Hang{{0}, std::chrono::seconds(300)};
  const std::string text = format_failure(report);
  CHECK_THAT(text, Catch::Contains("Failures:\n[1]:\n"));
  CHECK_THAT(text, Catch::Contains("exitcode  : 5 (pid: 4001), after SIGTERM from rankrun\n"));
  CHECK_THAT(text, Catch::Contains("stopped by rankrun (SIGTERM): rank 0\n"));
  CHECK_THAT(text,
             Catch::Contains("Root Cause (first observed failure):\n[0]:\n  host      : node7\n"
                             "  hang      : rank 0 hangs: no progress for 300.0 s\n"));
}

TEST_CASE("a job that stops before its restarts are used up says why", "[agent][report]") {
  JobReport report = failed_job({failed_worker(0, 1, {})});
  CHECK_THAT(format_failure(report), !Catch::Contains("--max-same-failure"));
  report.restarts = 1;
  report.same_failures = 2;
  CHECK_THAT(format_failure(report),
             Catch::Contains("restarts left: 2\nthe same failure has ended 2 attempts in a row "
                             "within 10 s each (--max-same-failure)\n"));
}

TEST_CASE("without a failed worker there is no block", "[agent][report]") {
  CHECK(format_failure(JobReport()).empty());
}

}  // namespace
}  // namespace rankrun::agent
