// SPDX-License-Identifier: Apache-2.0
// Strings as the system calls of the exec family want them.
#pragma once

#include <string>
#include <vector>

namespace rankrun::base {

/// Pointers to the texts of `strings`, which must outlive them, and a null pointer at the end.
/// execve does not write to what they point to, whatever its signature says.
inline std::vector<char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& text : strings) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace rankrun::base
