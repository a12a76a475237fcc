// SPDX-License-Identifier: Apache-2.0
#include "agent/remains.h"

#include "agent/cgroup.h"
#include "agent/wait_state.h"
#include "store/base/text.h"

#include <fmt/format.h>

#include <csignal>

namespace rankrun::agent {

namespace fs = std::filesystem;

namespace {

constexpr auto kProc = "/proc";

// What lives in a cgroup; nothing when it cannot tell, or cannot be told to kill.
std::optional<std::vector<ProcessEntry>> end_cgroup(const fs::path& cgroup) {
  const auto populated = is_populated(cgroup);
  if (!populated) return std::nullopt;
  std::vector<ProcessEntry> left;
  if (!*populated) return left;
  if (!kill_cgroup(cgroup)) return std::nullopt;
  for (const pid_t pid : processes_in(cgroup)) {
    const auto process = find_process(kProc, pid);
    if (process && !process->is_zombie()) left.push_back(*process);
  }
  if (left.empty() && is_populated(cgroup) == true) left.emplace_back();  // one that we cannot see
  return left;
}

}  // namespace

std::vector<ProcessEntry> end_round(const Remains& remains, int round) {
  if (remains.cgroup) {
    if (auto left = end_cgroup(*remains.cgroup)) return *std::move(left);
  }
  constexpr int kPlainRounds = 3;
  if (round >= kPlainRounds) stop_all(remains.marks, kProc);
  auto left = sweep(remains.marks, SIGKILL, kProc);
  // A look goes upwards: one that was started meanwhile with a lower number, by a process that
  // ended before its own turn, shows only in the next.
  if (left.empty()) left = sweep(remains.marks, SIGKILL, kProc);
  return left;
}

void remove_cgroups(const Remains& remains) {
  if (remains.cgroup) remove_cgroup(*remains.cgroup);
  if (remains.memory_cgroup) remove_cgroup(*remains.memory_cgroup);
}

std::string describe_left(const std::vector<ProcessEntry>& left) {
  constexpr std::size_t kMostNamed = 3;
  std::string text;
  for (std::size_t i = 0; i < left.size() && i < kMostNamed; ++i) {
    const ProcessEntry& process = left[i];
    text += fmt::format("{}process {} ({}) {}",
                        i == 0 ? "" : "; ",
                        process.pid,
                        base::escape_control(process.name),
                        describe(read_wait(kProc, process.pid)));
  }
  if (left.size() > kMostNamed) text += fmt::format("; and {} more", left.size() - kMostNamed);
  return text;
}

}  // namespace rankrun::agent
