// SPDX-License-Identifier: Apache-2.0
#include "agent/wait_state.h"

#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

ProcessEntry process_in(char state) {
  ProcessEntry process;
  process.pid = 12;
  process.state = state;
  return process;
}

TEST_CASE("a wait is told by its state and its place in the kernel", "[agent][wait]") {
  const tests::TempDir proc;
  CHECK(describe_wait(proc.path(), process_in('R')) == "running");
  CHECK(describe_wait(proc.path(), process_in('S')) == "sleeping");
  CHECK(describe_wait(proc.path(), process_in('D')) == "in uninterruptible sleep");
  CHECK(describe_wait(proc.path(), process_in('T')) == "stopped");
  CHECK(describe_wait(proc.path(), process_in('t')) == "stopped by a debugger");
  CHECK(describe_wait(proc.path(), process_in('Z')) == "dead");
  CHECK(describe_wait(proc.path(), process_in('?')) == "in a state that is not known");
  proc.file("12/wchan", "0");
  CHECK(describe_wait(proc.path(), process_in('R')) == "running");
  proc.file("12/wchan", "nfs_wait_bit");
  CHECK(describe_wait(proc.path(), process_in('D')) == "in uninterruptible sleep in nfs_wait_bit");
}

}  // namespace
}  // namespace rankrun::agent
