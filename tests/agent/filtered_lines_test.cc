// SPDX-License-Identifier: Apache-2.0
#include "agent/filtered_lines.h"

#include "tests/support/silent_log.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>

namespace rankrun::agent {
namespace {

struct Setup {
  tests::TempDir dir;
  std::string path = (dir.path() / "filtered_stdout.log").string();
  std::shared_ptr<LogFile> file = LogFile::create(path, tests::silent_log());

  FilteredLines of_rank(int rank) const {
    LinePrefix prefix("[default${rank}]:",
                      {.role_name = "", .local_rank = 0, .rank = rank, .host = ""});
    return {{"loss", "accuracy"}, std::move(prefix), file};
  }
  std::string content() const {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
};

TEST_CASE("lines with one of the texts are written once more, with their prefix",
          "[agent][filter]") {
  const Setup setup;
  FilteredLines zero = setup.of_rank(0);
  FilteredLines one = setup.of_rank(1);
  zero.add("start\nloss 3\nlo");
  one.add("accuracy 1, loss 2\nother\n");
  zero.add("ss 2\n");
  CHECK(setup.content() == "[default0]:loss 3\n[default1]:accuracy 1, loss 2\n[default0]:loss 2\n");
}

TEST_CASE("the last line counts without its end", "[agent][filter]") {
  const Setup setup;
  FilteredLines lines = setup.of_rank(0);
  lines.add("the loss");
  CHECK(setup.content().empty());
  lines.finish();
  CHECK(setup.content() == "[default0]:the loss\n");
}

}  // namespace
}  // namespace rankrun::agent
