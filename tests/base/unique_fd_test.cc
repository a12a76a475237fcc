// SPDX-License-Identifier: Apache-2.0
#include "store/base/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>

namespace rankrun::base {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST_CASE("a descriptor is closed once, by its last owner", "[base][unique_fd]") {
  const int number = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(number >= 0);
  {
    UniqueFd first(number);
    UniqueFd second(std::move(first));
    CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move): what a move leaves is the point
    CHECK(second.get() == number);
    UniqueFd third;
    third = std::move(second);
    CHECK(is_open(number));
  }
  CHECK_FALSE(is_open(number));
}

TEST_CASE("a released descriptor stays open", "[base][unique_fd]") {
  UniqueFd owner(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = owner.release();
  CHECK_FALSE(owner);
  CHECK(is_open(number));
  ::close(number);
}

}  // namespace
}  // namespace rankrun::base
