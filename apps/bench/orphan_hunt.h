// SPDX-License-Identifier: Apache-2.0
// One hunt: a launcher starts a tree of processes, it or the worker dies of SIGKILL, and one second
// later nothing of the tree may live. The oracle is a FIFO that all of the tree holds open.
#pragma once

#include "apps/bench/launchers.h"
#include "apps/bench/orphan_tree.h"
#include "apps/bench/parts.h"
#include "store/base/clock.h"
#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <filesystem>
#include <string>
#include <vector>

namespace rankrun::bench {

struct Hunt {
  TreeKind kind = TreeKind::forks;
  bool kills_worker = false;       ///< else the launcher
  base::Duration after{};          ///< the launcher's start, or the tree's if that is killed
  std::vector<std::string> flags;  ///< of the launcher
  std::filesystem::path limits;    ///< a cgroup to run in; empty: ours

  /// "setsid, launcher killed after 3.25 ms".
  std::string describe() const;
};

/// What became of a tree.
class Quarry {
 public:
  Quarry(std::filesystem::path path, base::UniqueFd reader)
      : path_(std::move(path)), reader_(std::move(reader)) {}

  /// Nothing of it lives now.
  bool is_gone() const;

  /// Waits for that. Fails with errc::timed_out or std::errc::interrupted.
  base::Result<void> wait_until_gone(base::TimePoint deadline) const;

  /// Waits for the pid of the worker.
  base::Result<pid_t> worker(base::TimePoint deadline) const;

  /// Kills what still has it open, looked up in /proc. Returns how many they were.
  int kill_survivors() const;

 private:
  std::filesystem::path path_;
  base::UniqueFd reader_;
};

struct HuntResult {
  Quarry quarry;
  base::Duration took{};  ///< from the victim's death until it was gone
  int survivors = 0;      ///< processes, after a second
};

/// `fifo` is its name, that of no other hunt.
base::Result<HuntResult> hunt(const Bench& bench,
                              const Launcher& launcher,
                              const Hunt& hunt,
                              const std::string& fifo);

}  // namespace rankrun::bench
