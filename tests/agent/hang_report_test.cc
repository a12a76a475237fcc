// SPDX-License-Identifier: Apache-2.0
#include "agent/hang_report.h"

#include <catch2/catch.hpp>

#include <chrono>

namespace rankrun::agent {
namespace {

using std::chrono::milliseconds;

TEST_CASE("a hang is told in one line", "[agent][hang]") {
  CHECK(describe(Hang{{0}, milliseconds(2510)}, 4) == "rank 4 hangs: no progress for 2.5 s");
  CHECK(describe(Hang{{0, 1, 2}, milliseconds(300000)}, 0) ==
        "ranks 0-2 hang: no progress for 300.0 s");
}

TEST_CASE("a worker of a job that hangs is a block of lines", "[agent][hang]") {
  HungWorker worker;
  worker.rank = 5;
  worker.local_rank = 1;
  worker.pid = 4242;
  worker.kernel = {'S', "do_wait", "", ""};
  worker.silence.any = milliseconds(2500);
  worker.stack_source = "gdb";
  SECTION("that has said nothing and does not hang itself") {
    CHECK(format_hung_worker(worker) ==
          "rank 5 (local rank 1, pid 4242): waits or works, no progress for 2.5 s\n"
          "  kernel    : asleep in do_wait\n"
          "  output    : none so far\n"
          "  heartbeat : none so far\n"
          "  stack     : gdb\n");
  }
  SECTION("that hangs, with all there is to tell") {
    worker.is_hung = true;
    worker.silence.heartbeat = milliseconds(9000);
    worker.since_output = milliseconds(3000);
    worker.last_line = "step \x1b[1m41";
    worker.stack = "#0 wait\n#1 \x1bmain\n";
    CHECK(format_hung_worker(worker) ==
          "rank 5 (local rank 1, pid 4242): hangs, no progress for 9.0 s\n"
          "  kernel    : asleep in do_wait\n"
          "  output    : 3.0 s ago: step \\x1b[1m41\n"
          "  heartbeat : 9.0 s ago\n"
          "  stack     : gdb\n"
          "    #0 wait\n"
          "    #1 \\x1bmain\n");
  }
}

}  // namespace
}  // namespace rankrun::agent
