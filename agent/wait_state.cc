// SPDX-License-Identifier: Apache-2.0
#include "agent/wait_state.h"

#include "agent/kernel_files.h"
#include "store/base/text.h"

#include <string_view>

namespace rankrun::agent {

namespace {

std::string_view state_in_words(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "in uninterruptible sleep";
    case 'T':
      return "stopped";
    case 't':
      return "stopped by a debugger";
    case 'Z':
    case 'X':
      return "dead";
    default:
      return "in a state that is not known";
  }
}

}  // namespace

std::string describe_wait(const std::filesystem::path& proc, const ProcessEntry& process) {
  std::string text(state_in_words(process.state));
  const auto where = read_kernel_file(proc / std::to_string(process.pid) / "wchan");
  if (where && !where->empty() && *where != "0") text += " in " + base::escape_control(*where);
  return text;
}

}  // namespace rankrun::agent
