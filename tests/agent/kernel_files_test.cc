// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel_files.h"

#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

using Cpus = std::set<int>;

TEST_CASE("a file of the kernel is read without its last newline", "[agent][kernel_files]") {
  const tests::TempDir folder;
  CHECK(read_kernel_file(folder.file("level", "3\n")) == "3");
  CHECK(read_kernel_file(folder.file("empty", "")) == "");
  CHECK(read_kernel_file(folder.path() / "missing") == std::nullopt);
  CHECK(read_kernel_file(folder.path()) == std::nullopt);
}

TEST_CASE("a number is digits and nothing else", "[agent][kernel_files]") {
  CHECK(parse_number("12") == 12);
  CHECK(parse_number("-1") == -1);
  for (const auto* text : {"", " 1", "1x", "x", "99999999999", "max"}) {
    CHECK(parse_number(text) == std::nullopt);
  }
}

TEST_CASE("a list of CPUs has single ones and ranges", "[agent][kernel_files]") {
  CHECK(parse_cpu_list("") == Cpus{});
  CHECK(parse_cpu_list("5") == Cpus{5});
  CHECK(parse_cpu_list("0-2,8,10-11") == Cpus{0, 1, 2, 8, 10, 11});
  CHECK(parse_cpu_list("65535") == Cpus{65535});
}

TEST_CASE("what is no list of CPUs is told apart from an empty one", "[agent][kernel_files]") {
  for (const auto* text : {"x", "1,", ",", "3-1", "-1", "1-", "1-2-3", "0-65536", "0-2000000000"}) {
    INFO(text);
    CHECK(parse_cpu_list(text) == std::nullopt);
  }
}

}  // namespace
}  // namespace rankrun::agent
