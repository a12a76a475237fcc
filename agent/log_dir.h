// SPDX-License-Identifier: Apache-2.0
// Where the workers of one agent write their error files. With --log-dir, laid out as torchrun's:
//   BASE/<run id>_<6 random characters>/attempt_<n>/<local rank>/error.json
// Without, flat in a temporary directory: some file systems take milliseconds to remove a
// directory, and most launches need none of it.
//   TEMP/rankrun_<6 random characters>/attempt_<n>_rank_<local rank>_error.json
// n counts every start on this node from 0 and is never used twice.
#pragma once

#include "store/base/result.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace rankrun::agent {

class LogDir {
 public:
  LogDir(LogDir&& other) noexcept
      : kind_(std::exchange(other.kind_, Kind::none)),
        run_(std::move(other.run_)),
        attempts_(other.attempts_),
        most_workers_(other.most_workers_) {}
  LogDir& operator=(LogDir&&) = delete;
  /// A temporary directory goes with its owner, unless close() has kept it.
  ~LogDir() { close(false); }

  /// `base`: unset for a temporary directory in `temp_dir`, "/dev/null" for none at all. Fails with
  /// the system's code when it cannot be made.
  static base::Result<LogDir> create(const std::optional<std::string>& base,
                                     const std::string& temp_dir,
                                     const std::string& run_id);

  /// Makes the folders of the next attempt.
  base::Result<void> open_attempt(int workers);

  /// Where a worker of the current attempt writes its error file; empty when there is no log
  /// directory.
  std::string error_file(int local_rank) const;

  /// Removes a temporary directory, unless `keep_errors` is set and a worker wrote an error file
  /// into it. Returns the path of a temporary directory that was kept, else nothing.
  std::optional<std::string> close(bool keep_errors);

 private:
  LogDir() = default;

  enum class Kind { none, temporary, kept, named };

  Kind kind_ = Kind::none;
  std::filesystem::path run_;  // of this agent; empty for none
  int attempts_ = 0;
  int most_workers_ = 0;  // of any attempt
};

}  // namespace rankrun::agent
