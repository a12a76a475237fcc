// SPDX-License-Identifier: Apache-2.0
#include "agent/failure_report.h"

#include "agent/errc.h"

#include <catch2/catch.hpp>

#include <csignal>

namespace rankrun::agent {
namespace {

FailureReport killed_report() {
  FailureReport report;
  report.entry_name = "train.py";
  report.time = "2026-01-02_03:04:05";
  report.host = "node7";
  report.rank = 5;
  report.local_rank = 1;
  report.pid = 4242;
  report.status = ExitStatus::signaled(SIGKILL, false);
  return report;
}

TEST_CASE("the final block names rank, host, pid and signal", "[agent][report]") {
  CHECK(format_failure(killed_report()) ==
        "=====================================================\n"
        "train.py FAILED\n"
        "-----------------------------------------------------\n"
        "Root Cause (first observed failure):\n"
        "[0]:\n"
        "  time      : 2026-01-02_03:04:05\n"
        "  host      : node7\n"
        "  rank      : 5 (local_rank: 1)\n"
        "  exitcode  : -9 (pid: 4242)  (SIGKILL)\n"
        "  error_file: <N/A>\n"
        "  traceback : Signal 9 (SIGKILL) received by PID 4242\n"
        "=====================================================\n");
}

TEST_CASE("the final block ends with the worker's last stderr lines", "[agent][report]") {
  FailureReport report = killed_report();
  report.status = ExitStatus::exited(3);
  report.last_lines = {"first", "evil \x1b[2J\x07 text\t."};
  const std::string text = format_failure(report);
  CHECK_THAT(text, Catch::Contains("exitcode  : 3 (pid: 4242)\n"));
  CHECK_THAT(text,
             Catch::Contains("Last stderr lines of rank 5:\n  first\n"
                             "  evil \\x1b[2J\\x07 text\t.\n"));
}

TEST_CASE("a missing torch is explained by the interpreter", "[agent][report]") {
  FailureReport report = killed_report();
  report.interpreter = "/usr/bin/python3";
  CHECK_THAT(format_failure(report), !Catch::Contains("PYTHON_EXEC"));
  report.last_lines = {"ModuleNotFoundError: No module named 'torch'"};
  CHECK_THAT(format_failure(report),
             Catch::Contains("/usr/bin/python3") && Catch::Contains("PYTHON_EXEC"));
}

TEST_CASE("how a process ended reads as a sentence", "[agent][report]") {
  CHECK(describe(ExitStatus::exited(9)) == "exited with 9");
  CHECK(describe(ExitStatus::signaled(9, false)) == "was killed by SIGKILL");
  CHECK(describe(ExitStatus::signaled(SIGSEGV, true)) == "was killed by SIGSEGV (core dumped)");
  CHECK(signal_name(SIGTERM) == "SIGTERM");
  CHECK(signal_name(64) == "signal 64");
}

TEST_CASE("the exit code says what ended the job", "[agent][report]") {
  Ending ending;
  CHECK(exit_code(ending) == 0);
  ending.failure = WorkerFailure{0, ExitStatus::exited(9)};
  CHECK(exit_code(ending) == 9);
  ending.failure = WorkerFailure{0, ExitStatus::signaled(9, false)};
  CHECK(exit_code(ending) == 137);
  ending.error = base::Error{std::make_error_code(std::errc::io_error), "", ""};
  CHECK(exit_code(ending) == 1);
  ending.error->code = errc::program_not_found;
  CHECK(exit_code(ending) == 127);
  ending.error->code = errc::program_not_executable;
  CHECK(exit_code(ending) == 126);
  ending.stop_signal = SIGTERM;
  CHECK(exit_code(ending) == 143);
}

}  // namespace
}  // namespace rankrun::agent
