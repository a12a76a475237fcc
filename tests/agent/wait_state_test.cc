// SPDX-License-Identifier: Apache-2.0
#include "agent/wait_state.h"

#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <unistd.h>

namespace rankrun::agent {
namespace {

TEST_CASE("the kernel's state of a process is told in words, as far as it may be read",
          "[agent][hang]") {
  CHECK(describe(KernelWait{'S', "do_wait", "", "61 0xffffffff 0x7ffd"}) ==
        "asleep in do_wait, system call 61");
  CHECK(describe(KernelWait{'D', "x", "[<0>] nfs_wait+0x5e/0x90\n[<0>] vfs_read+0x1", ""}) ==
        "in uninterruptible sleep (a disk, a network file system or a device) in "
        "nfs_wait+0x5e/0x90");
  CHECK(describe(KernelWait{'R', "0", "", "running"}) == "running");
  CHECK(describe(KernelWait{'S', "", "", ""}) == "asleep");
  CHECK(describe(KernelWait{}) == "in an unknown state");
}

TEST_CASE("what a process waits for is read from procfs", "[agent][wait]") {
  const tests::TempDir proc;
  proc.file("12/stat", "12 (sh) D 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20");
  proc.file("12/wchan", "nfs_wait");
  const KernelWait wait = read_wait(proc.path(), 12);
  CHECK(wait.state == 'D');
  CHECK(wait.channel == "nfs_wait");
  CHECK(wait.call_stack.empty());
  CHECK(read_wait("/proc", ::getpid()).state == 'R');
  CHECK(read_wait("/proc", 1 << 23).state == '?');
}

}  // namespace
}  // namespace rankrun::agent
