// SPDX-License-Identifier: Apache-2.0
#include "agent/exit_code.h"

#include "agent/errc.h"

#include <catch2/catch.hpp>

#include <csignal>

namespace rankrun::agent {
namespace {

struct Row {
  const char* what;
  Ending ending;
  int code;
};

base::Error error(std::error_code code) {
  return {code, "", ""};
}

WorkerFailure failed(ExitStatus status) {
  return {0, status};
}

// Every combination of a stop signal, trouble of rankrun's own and a worker's failure.
std::vector<Row> every_ending() {
  const base::Error trouble = error(std::make_error_code(std::errc::io_error));
  const base::Error not_found = error(make_error_code(errc::program_not_found));
  const base::Error not_executable = error(make_error_code(errc::program_not_executable));
  const base::Error stuck = error(make_error_code(errc::workers_stuck));
  const WorkerFailure nine = failed(ExitStatus::exited(9));
  const WorkerFailure killed = failed(ExitStatus::signaled(SIGKILL, false));
  const WorkerFailure dumped = failed(ExitStatus::signaled(SIGSEGV, true));
  return {
      {"success", {}, 0},
      {"exit 1", {{}, {}, failed(ExitStatus::exited(1))}, 1},
      {"exit 9", {{}, {}, nine}, 9},
      {"exit 255", {{}, {}, failed(ExitStatus::exited(255))}, 255},
      {"SIGKILL", {{}, {}, killed}, 137},
      {"core dump", {{}, {}, dumped}, 139},
      {"trouble", {{}, trouble, {}}, 1},
      {"not found", {{}, not_found, {}}, 127},
      {"not executable", {{}, not_executable, {}}, 126},
      {"stuck after exit 9", {{}, stuck, nine}, 1},
      {"trouble after SIGKILL", {{}, trouble, killed}, 1},
      {"not found after exit 9", {{}, not_found, nine}, 127},
      {"hang", {{}, {}, {}, Hang{{0}, {}}}, 1},
      {"SIGINT and hang", {SIGINT, {}, {}, Hang{{0}, {}}}, 130},
      {"SIGTERM", {SIGTERM, {}, {}}, 143},
      {"SIGINT", {SIGINT, {}, {}}, 130},
      {"SIGHUP", {SIGHUP, {}, {}}, 129},
      {"SIGQUIT", {SIGQUIT, {}, {}}, 131},
      {"SIGTERM after exit 9", {SIGTERM, {}, nine}, 143},
      {"SIGTERM and trouble", {SIGTERM, trouble, {}}, 143},
      {"SIGTERM, trouble, SIGKILL", {SIGTERM, trouble, killed}, 143},
  };
}

TEST_CASE("the exit code says what ended the job", "[agent][exit_code]") {
  for (const Row& row : every_ending()) {
    INFO(row.what);
    CHECK(exit_code(row.ending, ExitCodeStyle::worker) == row.code);
  }
}

TEST_CASE("torchrun's style folds every failure to 1", "[agent][exit_code]") {
  for (const Row& row : every_ending()) {
    INFO(row.what);
    CHECK(exit_code(row.ending, ExitCodeStyle::torchrun) == (row.code == 0 ? 0 : 1));
    if (row.ending.error) CHECK(exit_code(*row.ending.error, ExitCodeStyle::torchrun) == 1);
  }
}

}  // namespace
}  // namespace rankrun::agent
