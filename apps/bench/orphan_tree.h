// SPDX-License-Identifier: Apache-2.0
// `rankbench orphan-tree`: a worker that does what launchers lose processes by.
#pragma once

#include "store/base/result.h"

#include <span>
#include <string>
#include <string_view>

namespace rankrun::bench {

/// How the processes of a tree try to get away.
enum class TreeKind {
  forks,         ///< children of the worker
  double_forks,  ///< whose parents have ended
  setsid,        ///< in sessions of their own
  ignores_term,  ///< that SIGTERM does not end
  shell,         ///< started through a shell, in the background
  endless,       ///< that fork without end, each in a session of its own
};

std::span<const TreeKind> tree_kinds();
std::string_view name(TreeKind kind);

struct OrphanTreeOptions {
  TreeKind kind = TreeKind::forks;
  std::string fifo;
};

/// Opens the FIFO for writing before all else, writes its pid to it as a line, and becomes a tree
/// whose processes all hold the FIFO open. Comes back only when it cannot.
base::Result<void> run_orphan_tree(const OrphanTreeOptions& options);

}  // namespace rankrun::bench
