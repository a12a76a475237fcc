// SPDX-License-Identifier: Apache-2.0
#include "agent/exit_status.h"

#include <catch2/catch.hpp>

#include <csignal>

namespace rankrun::agent {
namespace {

TEST_CASE("how a process ended reads as a sentence", "[agent][exit_status]") {
  CHECK(describe(ExitStatus::exited(9)) == "exited with 9");
  CHECK(describe(ExitStatus::signaled(9, false)) == "was killed by SIGKILL");
  CHECK(describe(ExitStatus::signaled(SIGSEGV, true)) == "was killed by SIGSEGV (core dumped)");
  CHECK(signal_name(SIGTERM) == "SIGTERM");
  CHECK(signal_name(64) == "signal 64");
}

TEST_CASE("torchrun negates the number of a signal", "[agent][exit_status]") {
  CHECK(torchrun_code(ExitStatus::exited(9)) == 9);
  CHECK(torchrun_code(ExitStatus::signaled(9, false)) == -9);
}

}  // namespace
}  // namespace rankrun::agent
