// SPDX-License-Identifier: Apache-2.0
// What breaks a rule of the protocol, and how a server is to refuse it.
#pragma once

#include "store/errc.h"

#include <string>
#include <vector>

namespace rankrun::store::test {

struct BadInput {
  std::string name;
  std::string bytes;  // from the first of the connection on
  errc reason = errc::unknown_protocol;
  std::string answer;  // to the requests before the bad one
};

/// Each limit exceeded by one and by far, each code that nobody has, each kind of stranger.
std::vector<BadInput> bad_inputs();

}  // namespace rankrun::store::test
