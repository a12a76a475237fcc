// SPDX-License-Identifier: Apache-2.0
// Holds the processes of a launch together, attempt by attempt, so that all of them can be found
// and ended: by a cgroup per attempt where we may make one, else by what marks them (sweep.h).
#pragma once

#include "agent/config.h"
#include "agent/memory_cgroup.h"
#include "agent/shared_marks.h"
#include "store/base/log.h"
#include "store/base/result.h"
#include "store/base/unique_fd.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rankrun::agent {

/// What a new worker is tied to.
struct Ties {
  std::atomic<pid_t>* place = nullptr;        ///< it puts its pid there
  int cgroup = -1;                            ///< is born in the cgroup of this folder; -1: in ours
  std::optional<MemoryCgroup> memory_cgroup;  ///< its own, which it moves itself to
  std::string mark;                           ///< of our launch, for its environment
};

/// Belongs to the agent's thread.
class Containment {
 public:
  /// Fails when cgroups are required and we may not make them here. `limits_memory`: workers will
  /// have memory limits.
  /// Warns of an attempt that goes without the cgroup that others had.
  static base::Result<Containment> create(CgroupUse use, bool limits_memory, base::Logger log);

  ~Containment();
  Containment(Containment&&) = default;
  Containment& operator=(Containment&&) = delete;

  /// Makes the cgroup of the next attempt already now, so that it is known whether it has one; to
  /// be called when the keeper watches, which removes it. Fails only where a cgroup is required.
  base::Result<void> open_attempt();

  /// For a new worker of the current attempt. Fails when there are too many, or the memory of one
  /// cannot be limited (`memory_max`, in bytes).
  base::Result<Ties> tie(std::optional<std::uint64_t> memory_max);

  /// One round of ending what the current attempt has left (remains.h).
  std::vector<ProcessEntry> end_round(int round) const {
    return agent::end_round(marks_.remains(), round);
  }

  /// To be called when a round has found nothing, and before the workers are reaped.
  void close_attempt();

  /// How what the open attempt leaves is found: "a cgroup per attempt, below ..." or "their session
  /// and environment mark".
  std::string describe() const;

  const SharedMarks& marks() const { return marks_; }

 private:
  Containment(CgroupUse use, SharedMarks marks, base::Logger log)
      : use_(use), marks_(std::move(marks)), log_(std::move(log)) {}

  base::Result<MemoryCgroup> limit_memory(std::uint64_t memory_max);

  CgroupUse use_;
  SharedMarks marks_;
  base::Logger log_;
  base::UniqueFd cgroup_;    // of the current attempt, where it has one
  bool had_cgroup_ = false;  // an attempt before it
  int limited_ = 0;          // workers of it with a memory limit of their own
};

}  // namespace rankrun::agent
