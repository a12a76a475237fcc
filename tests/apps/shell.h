// SPDX-License-Identifier: Apache-2.0
// Runs a command by /bin/sh, for texts that other programs must be able to read.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace rankrun::tests {

struct ShellResult {
  int code = 0;
  std::string output;  ///< stdout and stderr
};

inline ShellResult run_shell(const std::string& command) {
  FILE* const pipe = ::popen(("{ " + command + "\n} 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen " + command);
  ShellResult result;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    result.output += static_cast<char>(c);
  }
  result.code = WEXITSTATUS(::pclose(pipe));
  return result;
}

/// Whether a program is here; else says that the test is skipped.
inline bool has_program(const std::string& name) {
  const bool found = run_shell("command -v " + name).code == 0;
  if (!found) std::puts(("SKIPPED: there is no " + name).c_str());
  return found;
}

}  // namespace rankrun::tests
