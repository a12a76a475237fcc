// SPDX-License-Identifier: Apache-2.0
// The keys of a request, as tests write them.
#pragma once

#include "store/command.h"

#include <string>
#include <vector>

namespace rankrun::store::test {

inline Keys key_list(const std::vector<std::string>& texts) {
  Keys keys;
  for (const std::string& text : texts) {
    keys.bytes += text;
    keys.end_key();
  }
  return keys;
}

}  // namespace rankrun::store::test
