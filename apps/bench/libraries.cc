// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/libraries.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

namespace rankrun::bench {

std::vector<std::string> further_libraries(const std::string& trace) {
  // linux-vdso is a part of the kernel, not a file.
  constexpr std::array<std::string_view, 4> kAlways = {
      "linux-vdso.so.", "libc.so.", "libm.so.", "ld-linux"};
  std::istringstream lines(trace);
  std::vector<std::string> further;
  for (std::string line; std::getline(lines, line);) {
    std::string path;  // "NAME => PATH (ADDRESS)", the loader itself as a path
    std::istringstream(line) >> path;
    const std::string name = path.substr(path.rfind('/') + 1);
    const bool always = std::any_of(kAlways.begin(), kAlways.end(), [&](std::string_view start) {
      return name.starts_with(start);
    });
    if (!name.empty() && !always) further.push_back(name);
  }
  return further;
}

}  // namespace rankrun::bench
