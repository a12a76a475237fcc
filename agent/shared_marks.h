// SPDX-License-Identifier: Apache-2.0
// What is known of a launch's processes, in memory that the agent and its keeper share: the keeper
// must find them when the agent has died, at whatever moment.
#pragma once

#include "agent/remains.h"

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>

namespace rankrun::agent {

/// Written by the agent's thread and its children before exec, and read by the keeper once the
/// agent is dead.
class SharedMarks {
 public:
  /// `marks` without leaders. `cgroups` and `memory_cgroups` are where attempts get cgroups of
  /// these kinds, if they do. All of it stays as it is. Throws std::bad_alloc when there is no
  /// memory.
  SharedMarks(Marks marks,
              std::optional<std::filesystem::path> cgroups,
              std::optional<std::filesystem::path> memory_cgroups);

  const Marks& marks() const { return marks_; }

  /// Where a worker that starts puts its pid; nothing when all places are taken.
  std::atomic<pid_t>* free_place();

  /// Whether a worker of the current attempt was started.
  bool has_leaders() const;

  /// The workers of the attempt are gone: their pids may come to mean other processes from now on,
  /// and its cgroups other ones.
  void next_attempt();

  /// Of the current attempt.
  Remains remains() const;

 private:
  struct Page;
  struct Unmap {
    void operator()(Page* page) const;
  };

  Marks marks_;
  std::optional<std::filesystem::path> cgroups_;
  std::optional<std::filesystem::path> memory_cgroups_;
  std::unique_ptr<Page, Unmap> page_;
};

}  // namespace rankrun::agent
