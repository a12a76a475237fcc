// SPDX-License-Identifier: Apache-2.0
#include "agent/sweep.h"

#include "agent/kernel_files.h"
#include "store/base/text.h"
#include "store/base/unique_fd.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace rankrun::agent {

namespace fs = std::filesystem;

namespace {

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

bool is_led(const ProcessEntry& process, const Marks& marks) {
  return contains(marks.leaders, process.session) || contains(marks.leaders, process.group);
}

bool is_marked(const ProcessEntry& process, const Marks& marks, const fs::path& proc) {
  const auto environment = read_kernel_file(proc / std::to_string(process.pid) / "environ");
  return environment && has_mark(*environment, marks.mark) &&
         user_of(proc, process.pid) == marks.uid;
}

// By a descriptor of the process: its number may mean another one by now.
void kill_process(const ProcessEntry& process, const Marks& marks, const fs::path& proc) {
  const base::UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  const auto now = find_process(proc, process.pid);
  if (!now || now->started != process.started) return;
  if (user_of(proc, process.pid) != marks.uid) return;
  ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

}  // namespace

bool has_mark(std::string_view environment, std::string_view mark) {
  for (std::string_view variable : base::split(environment, '\0')) {
    if (!variable.starts_with(kMarkVariable)) continue;
    variable.remove_prefix(kMarkVariable.size());
    if (!variable.starts_with('=')) continue;
    const auto launches = base::split(variable.substr(1), ':');
    return std::find(launches.begin(), launches.end(), mark) != launches.end();
  }
  return false;
}

std::vector<ProcessEntry> sweep(const Marks& marks, const fs::path& proc) {
  std::vector<ProcessEntry> left;
  for_each_process(proc, [&](const ProcessEntry& process) {
    if (process.is_zombie() || process.started < marks.since) return;
    if (!is_led(process, marks) && !is_marked(process, marks, proc)) return;
    kill_process(process, marks, proc);
    left.push_back(process);
  });
  return left;
}

}  // namespace rankrun::agent
