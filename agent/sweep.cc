// SPDX-License-Identifier: Apache-2.0
#include "agent/sweep.h"

#include "agent/kernel_files.h"
#include "store/base/pidfd.h"
#include "store/base/text.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace rankrun::agent {

namespace fs = std::filesystem;

namespace {

// More than jobs have on a node; else they start new ones as fast as others are killed.
constexpr std::size_t kMostKilled = 10'000;

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

bool is_led(const ProcessEntry& process, const Marks& marks) {
  return contains(marks.leaders, process.session) || contains(marks.leaders, process.group);
}

// Only a living thread tells it: the first one may have ended.
std::string environment_of(const ProcessEntry& process, const fs::path& proc) {
  const fs::path folder = proc / std::to_string(process.pid);
  auto environment = read_kernel_file(folder / "environ");
  if (environment && !environment->empty()) return *std::move(environment);
  std::error_code ignored;
  auto thread = fs::directory_iterator(folder / "task", ignored);
  for (; thread != fs::directory_iterator(); thread.increment(ignored)) {
    environment = read_kernel_file(thread->path() / "environ");
    if (environment && !environment->empty()) return *std::move(environment);
  }
  return {};
}

// While it executes a program, a process shows none for a moment, and then the same as before.
bool is_marked(const ProcessEntry& process, const Marks& marks, const fs::path& proc) {
  constexpr int kMostLooks = 5;
  constexpr auto kPause = std::chrono::microseconds(500);
  constexpr pid_t kKernelThreads = 2;  // their parent; they have none
  for (int look = 0; look < kMostLooks; ++look) {
    const std::string environment = environment_of(process, proc);
    if (!environment.empty() || process.parent == kKernelThreads) {
      return has_mark(environment, marks.mark) && user_of(proc, process.pid) == marks.uid;
    }
    if (user_of(proc, process.pid) != marks.uid) return false;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

// By a descriptor of the process: its number may mean another one by now.
void send(int signal, const ProcessEntry& process, const Marks& marks, const fs::path& proc) {
  const base::UniqueFd pidfd = base::open_pidfd(process.pid);
  const auto now = find_process(proc, process.pid);
  if (!now || now->started != process.started) return;
  if (user_of(proc, process.pid) != marks.uid) return;
  base::send_signal(pidfd.get(), signal);
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

std::vector<ProcessEntry> sweep(const Marks& marks, int signal, const fs::path& proc) {
  std::vector<ProcessEntry> left;
  for_each_process(proc, [&](const ProcessEntry& process) {
    if (signal == SIGKILL && left.size() >= kMostKilled) return;
    if (process.is_zombie() || process.started < marks.since) return;
    if (!is_led(process, marks) && !is_marked(process, marks, proc)) return;
    send(signal, process, marks, proc);
    left.push_back(process);
  });
  return left;
}

void stop_all(const Marks& marks, const fs::path& proc) {
  constexpr int kMostSweeps = 50;  // while they start new ones
  std::set<std::pair<pid_t, std::uint64_t>> known;
  for (int i = 0; i < kMostSweeps; ++i) {
    const std::size_t before = known.size();
    for (const ProcessEntry& process : sweep(marks, SIGSTOP, proc)) {
      known.emplace(process.pid, process.started);
    }
    if (known.size() == before) return;
  }
}

}  // namespace rankrun::agent
