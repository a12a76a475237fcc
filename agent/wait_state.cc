// SPDX-License-Identifier: Apache-2.0
#include "agent/wait_state.h"

#include "agent/kernel_files.h"
#include "agent/process_table.h"

#include <fmt/format.h>

#include <string_view>

namespace rankrun::agent {

namespace {

std::string_view state_in_words(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "asleep";
    case 'D':
      return "in uninterruptible sleep (a disk, a network file system or a device)";
    case 'T':
      return "stopped by a signal";
    case 't':
      return "stopped by a debugger";
    case 'Z':
      return "a zombie";
    default:
      return "in an unknown state";
  }
}

// The innermost frame of "[<0>] do_wait+0x5e\n...".
std::string_view first_frame(std::string_view call_stack) {
  std::string_view line = call_stack.substr(0, call_stack.find('\n'));
  const auto address_end = line.find("] ");
  if (address_end != std::string_view::npos) line.remove_prefix(address_end + 2);
  return line;
}

// "61 0xffffffff ...": its number. A process that runs has none.
std::string_view system_call_number(std::string_view text) {
  const std::string_view number = text.substr(0, text.find(' '));
  const bool is_number = number.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? number : std::string_view();
}

}  // namespace

KernelWait read_wait(const std::filesystem::path& proc, pid_t pid) {
  const std::filesystem::path folder = proc / std::to_string(pid);
  const auto process = find_process(proc, pid);
  return {.state = process ? process->state : '?',
          .channel = read_kernel_file(folder / "wchan").value_or(""),
          .call_stack = read_kernel_file(folder / "stack").value_or(""),
          .system_call = read_kernel_file(folder / "syscall").value_or("")};
}

std::string describe(const KernelWait& wait) {
  std::string text(state_in_words(wait.state));
  const bool has_channel = wait.channel != "0";  // a process that runs waits nowhere
  const std::string_view frame = first_frame(wait.call_stack);
  const std::string_view place = frame.empty() && has_channel ? wait.channel : frame;
  if (!place.empty()) text += fmt::format(" in {}", place);
  const std::string_view call = system_call_number(wait.system_call);
  if (!call.empty()) text += fmt::format(", system call {}", call);
  return text;
}

}  // namespace rankrun::agent
