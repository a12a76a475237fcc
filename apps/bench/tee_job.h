// SPDX-License-Identifier: Apache-2.0
// A launcher that tees what its workers write, with us at the far end of its console.
#pragma once

#include "apps/bench/console_ends.h"
#include "apps/bench/parts.h"
#include "apps/bench/program.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::bench {

/// Runs from start() until it is destroyed. One at a time: its log files are where those of the
/// last one were.
class TeeJob {
 public:
  /// Each worker is `rankbench log-worker` with these arguments.
  static base::Result<TeeJob> start(const Bench& bench,
                                    const Launcher& launcher,
                                    int workers,
                                    const std::vector<std::string>& arguments,
                                    ConsoleKind kind);

  TeeJob(TeeJob&&) noexcept = default;
  TeeJob& operator=(TeeJob&&) = delete;
  ~TeeJob() = default;

  const Program& launcher() const { return program_; }

  /// Reads the console to its end and waits for the launcher's. Fails unless it ends with success
  /// in time.
  base::Result<void> read_all(const std::function<void(std::string_view)>& accept);

 private:
  TeeJob(Command command, Program program, base::UniqueFd console);

  Command command_;
  Program program_;
  base::UniqueFd console_;  // closed before the program is ended: it must not wait for us
};

}  // namespace rankrun::bench
