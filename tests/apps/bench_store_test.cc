// SPDX-License-Identifier: Apache-2.0
// rankbench store itself, with small crowds and without PyTorch.
#include "tests/apps/shell.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <stdio.h>

#include <string>

namespace rankrun::bench {
namespace {

using Json = nlohmann::json;

bool contains(const Json& text, const std::string& words) {
  return text.get<std::string>().find(words) != std::string::npos;
}

TEST_CASE("store measures our server beside the floor, and says that PyTorch is missing",
          "[bench][store]") {
  const tests::TempDir home;
  const std::string command = "env -u XDG_CACHE_HOME HOME=" + home.path().string() +
                              " " RANKBENCH_BINARY " store --rankrun=" RANKRUN_BINARY
                              " --rounds=1 --milliseconds=20 --scale=1 --json=- 2>/dev/null";
  const Json report = Json::parse(tests::run_shell(command).output);
  INFO(report.dump(2));
  // A name server can be taken away only from a process with a mount namespace of its own.
  for (const Json& failure : report["failures"]) {
    CHECK(contains(failure, "a storm without names"));
  }
  std::size_t beside_floor = 0;
  for (const Json& row : report["rows"]) {
    const bool is_lost = contains(row["what"], "lost");
    CHECK((is_lost ? row["figure"] == 0 : row["figure"] >= 0));
    if (row["peer"] == "floor") ++beside_floor;
    if (row["peer"].is_null() && !contains(row["what"], "no name server")) {
      CHECK(contains(row["note"], "no torchrun found"));
    }
  }
  CHECK(beside_floor >= 10);
}

}  // namespace
}  // namespace rankrun::bench
