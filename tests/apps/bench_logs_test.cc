// SPDX-License-Identifier: Apache-2.0
// rankbench itself, with launchers that are shell scripts: one that tees well, one that does not.
#include "tests/apps/shell.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <stdio.h>

#include <filesystem>
#include <string>

namespace rankrun::bench {
namespace {

using Json = nlohmann::json;

constexpr auto kProgram = std::filesystem::perms(0755);

// A launcher of which each worker's output goes through sed with these commands.
std::string launcher(const std::string& sed) {
  return R"(#!/bin/sh
[ "$1" = --version ] && { echo fake 1; exit; }
while [ "$1" != --no-python ]; do
  case $1 in --nproc-per-node=*) workers=${1#*=};; esac
  shift
done
shift
rank=0
while [ $rank -lt $workers ]; do
  RANK=$rank "$@" | sed -u )" +
         sed + R"( &
  rank=$((rank + 1))
done
wait
)";
}

Json row_with(const Json& report, const std::string& words) {
  for (const Json& row : report["rows"]) {
    if (row["what"].get<std::string>().find(words) != std::string::npos) return row;
  }
  FAIL("no row with '" << words << "' in " << report.dump(2));
  return {};
}

TEST_CASE("logs finds the faults of a launcher, and none where there is none", "[bench][logs]") {
  const tests::TempDir dir;
  const std::string good = dir.file("rankrun", launcher("\"s/^/[default$rank]:/\""), kProgram);
  // The third line is prefixed twice, the fifth is left out.
  const std::string bad =
      dir.file("torchrun",
               launcher("-e \"s/^/[default$rank]:/\" -e \"3s/^/[default$rank]:/\" -e 5d"),
               kProgram);
  dir.file("python", "#!/bin/sh\necho fake 2\n", kProgram);

  const std::string options = " --workers=2 --lines=50 --stamps=5 --json=- 2>/dev/null";
  const Json report =
      Json::parse(tests::run_shell(std::string(RANKBENCH_BINARY " logs --rankrun=") + good +
                                   " --torchrun=" + bad + options)
                      .output);
  CHECK(report["failures"].empty());
  for (const std::string console : {"a pipe", "a terminal"}) {
    const Json faults = row_with(report, "through " + console + ", lost, torn");
    CHECK(faults["figure"] == 0);
    CHECK(faults["peer_figure"] == 6);
    CHECK(faults["note"] == "torchrun: 4 lost, 2 prefixed twice");
    CHECK(row_with(report, "through " + console + ", time per line")["figure"] > 0);
    CHECK(row_with(report, "through " + console + ", idle, p99 of 5")["figure"] > 0);
  }
  CHECK(row_with(report, "console not read")["figure"] > 0);
}

}  // namespace
}  // namespace rankrun::bench
