// SPDX-License-Identifier: Apache-2.0
#include "agent/job_report.h"

#include "tests/support/job_reports.h"

#include <catch2/catch.hpp>

#include <csignal>

namespace rankrun::agent {
namespace {

using tests::ended_worker;
using tests::failed_job;
using tests::failed_worker;

WorkerOutcome outcome(ExitStatus status, std::optional<int> stop_signal) {
  return ended_worker(0, status, stop_signal).outcome();
}

std::string words(std::vector<std::string> last_lines) {
  return failed_worker(0, 1, std::move(last_lines)).own_words();
}

TEST_CASE("a worker that nobody stopped succeeds with 0 and else fails", "[agent][job_report]") {
  CHECK(outcome(ExitStatus::exited(0), {}) == WorkerOutcome::succeeded);
  CHECK(outcome(ExitStatus::exited(1), {}) == WorkerOutcome::failed);
  CHECK(outcome(ExitStatus::signaled(SIGTERM, false), {}) == WorkerOutcome::failed);
  CHECK(WorkerReport().outcome() == WorkerOutcome::not_ended);
}

TEST_CASE("a worker is stopped when it ends as rankrun's signal ends one", "[agent][job_report]") {
  CHECK(outcome(ExitStatus::exited(0), SIGTERM) == WorkerOutcome::stopped);
  CHECK(outcome(ExitStatus::signaled(SIGTERM, false), SIGTERM) == WorkerOutcome::stopped);
  CHECK(outcome(ExitStatus::exited(128 + SIGTERM), SIGTERM) == WorkerOutcome::stopped);
  CHECK(outcome(ExitStatus::signaled(SIGKILL, false), SIGKILL) == WorkerOutcome::stopped);
}

TEST_CASE("a worker that was told to stop can still fail by itself", "[agent][job_report]") {
  CHECK(outcome(ExitStatus::exited(1), SIGTERM) == WorkerOutcome::failed);
  CHECK(outcome(ExitStatus::signaled(SIGSEGV, true), SIGTERM) == WorkerOutcome::failed);
  CHECK(outcome(ExitStatus::signaled(SIGKILL, false), SIGTERM) == WorkerOutcome::failed);
}

TEST_CASE("of several signals the one that a worker ended by decides", "[agent][job_report]") {
  const std::vector<int> sent{SIGTERM, SIGINT, SIGKILL};
  CHECK(decisive_signal(ExitStatus::signaled(SIGTERM, false), sent) == SIGTERM);
  CHECK(decisive_signal(ExitStatus::exited(128 + SIGINT), sent) == SIGINT);
  CHECK(decisive_signal(ExitStatus::exited(7), sent) == SIGKILL);
  CHECK(decisive_signal(ExitStatus::exited(7), {}) == std::nullopt);
}

TEST_CASE("a worker's own words are the exception of its last traceback", "[agent][job_report]") {
  CHECK(words({"Traceback (most recent call last):",
               "  File \"train.py\", line 3, in <module>",
               "    1 / 0",
               "ZeroDivisionError: division by zero",
               "[W socket.cpp] noise after it"}) == "ZeroDivisionError: division by zero");
  CHECK(words({"Traceback (most recent call last):",
               "KeyError: 1",
               "",
               "During handling of the above exception, another exception occurred:",
               "",
               "Traceback (most recent call last):",
               "  File \"train.py\", line 5, in <module>",
               "ValueError: 2"}) == "ValueError: 2");
}

TEST_CASE("without a traceback they are the last line that is not blank", "[agent][job_report]") {
  CHECK(words({"what(): out of cheese", "  giving up ", " ", ""}) == "giving up");
  CHECK(words({"Traceback (most recent call last):", "  File \"cut off"}) == "File \"cut off");
  CHECK(words({}).empty());
  CHECK(words({std::string(5000, 'x')}).size() == 512);
}

TEST_CASE("an error file's message comes before stderr", "[agent][job_report]") {
  WorkerReport worker = failed_worker(0, 1, {"last line"});
  worker.error_file = ErrorFile{"error.json", WorkerError{"RuntimeError: one\ntwo", "stack"}, ""};
  CHECK(worker.own_words() == "RuntimeError: one");
  worker.error_file = ErrorFile{"error.json", {}, "it is empty"};
  CHECK(worker.own_words() == "last line");
}

TEST_CASE("a worker ran out of memory when the kernel says so and SIGKILL ended it",
          "[agent][job_report]") {
  WorkerReport worker = ended_worker(0, ExitStatus::signaled(SIGKILL, false));
  worker.last_lines = {"allocating"};
  CHECK_FALSE(worker.ran_out_of_memory());
  CHECK(worker.own_words() == "allocating");
  worker.memory_kill = OutOfMemory{64 << 20, (64 << 20) - (1 << 19)};
  CHECK(worker.ran_out_of_memory());
  CHECK(worker.own_words() == "out of memory, killed by the kernel: limit 64.0 MiB, peak 63.5 MiB");
  worker.memory_kill = OutOfMemory{};
  CHECK(worker.own_words() ==
        "out of memory, killed by the kernel: no limit of its cgroup, of the host");

  worker.end->stop_signal = SIGKILL;  // ours
  CHECK_FALSE(worker.ran_out_of_memory());
  worker.end = ended_worker(0, ExitStatus::exited(1)).end;  // a child of it was killed
  CHECK_FALSE(worker.ran_out_of_memory());
}

TEST_CASE("an expired timer comes before a worker's own words", "[agent][job_report]") {
  WorkerReport worker = failed_worker(0, 1, {"last line"});
  worker.error_file = ErrorFile{"error.json", WorkerError{"RuntimeError: one", "stack"}, ""};
  worker.expired_timer = "timer 'epoch' expired";
  CHECK(worker.own_words() == "timer 'epoch' expired");
}

TEST_CASE("the reason of an end is one line", "[agent][job_report]") {
  JobReport report;
  CHECK(report.result() == JobResult::succeeded);
  CHECK(report.reason().empty());

  report = failed_job({failed_worker(1, 3, {"loss is \x1bNaN"})});
  CHECK(report.result() == JobResult::failed);
  CHECK(report.reason() ==
        "rank 1 (local rank 1, pid 4001) on node7 exited with 3: loss is \\x1bNaN");

  report.same_failures = 3;
  CHECK(
      report.reason() ==
      "rank 1 (local rank 1, pid 4001) on node7 exited with 3: loss is \\x1bNaN; the same failure "
      "has ended 3 attempts in a row within 10 s each (--max-same-failure)");

  report.ending.failure.reset();
  report.ending.hang = Hang{{0, 1}, std::chrono::milliseconds(2500)};
  report.first_rank = 4;
  CHECK(report.result() == JobResult::failed);
  CHECK(report.reason() == "on node7, ranks 4-5 hang: no progress for 2.5 s");

  report.ending.error = base::Error{{}, "port 1: taken", "use another"};
  CHECK(report.result() == JobResult::error);
  CHECK(report.reason() == "port 1: taken; use another");

  report.ending.stop_signal = SIGTERM;
  CHECK(report.result() == JobResult::stopped);
  CHECK(report.reason() == "rankrun got SIGTERM");
}

TEST_CASE("the root cause is the failure that ended the job", "[agent][job_report]") {
  JobReport report = failed_job({failed_worker(3, 1, {}), failed_worker(2, 1, {})});
  REQUIRE(report.root_cause() != nullptr);
  CHECK(report.root_cause()->rank == 3);
  report.ending.failure.reset();
  CHECK(report.root_cause() == nullptr);
}

}  // namespace
}  // namespace rankrun::agent
