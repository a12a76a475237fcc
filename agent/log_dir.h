// SPDX-License-Identifier: Apache-2.0
// Where the output and the error files of the workers of one agent lie. With --log-dir, laid out as
// torchrun's:
//   BASE/<run id>_<6 random characters>/attempt_<n>/<local
//   rank>/{error.json,heartbeat,stdout.log,stderr.log} BASE/<run id>_<6 random
//   characters>/attempt_<n>/filtered_{stdout,stderr}.log
// Without, flat in a temporary directory: some file systems take milliseconds to remove a
// directory, and most launches need none of it.
//   TEMP/rankrun_<6 random characters>/attempt_<n>_rank_<local rank>_error.json and so on
// n counts every start on this node from 0 and is never used twice.
#pragma once

#include "agent/config.h"
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
        is_open_(other.is_open_),
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

  /// Makes the folders of the next attempt. When that fails, the attempt has no files; the next one
  /// tries again.
  base::Result<void> open_attempt(int workers);

  /// Whether the current attempt may have files; if not, the names below are empty.
  bool is_open() const { return is_open_; }

  /// What a worker of the current attempt writes itself.
  std::string error_file(int local_rank) const { return worker_file(local_rank, "error.json"); }

  /// What it touches to say that it is well.
  std::string heartbeat_file(int local_rank) const { return worker_file(local_rank, "heartbeat"); }
  /// They mean nothing once the attempt is over.
  void remove_heartbeats() const;

  /// For what a worker of the current attempt writes to this stream.
  std::string log_file(int local_rank, Stream stream) const;

  /// For lines of all workers of the current attempt.
  std::string filtered_file(Stream stream) const;

  /// Removes a temporary directory, unless `keep_files` is set and there are files in it. Returns
  /// the path of a temporary directory that was kept, else nothing.
  std::optional<std::string> close(bool keep_files);

 private:
  LogDir() = default;

  enum class Kind { none, temporary, kept, named };

  std::filesystem::path attempt_prefix() const;
  std::string worker_file(int local_rank, const std::string& name) const;

  Kind kind_ = Kind::none;
  std::filesystem::path run_;  // of this agent; empty for none
  bool is_open_ = false;
  int attempts_ = 0;
  int most_workers_ = 0;  // of any attempt
};

}  // namespace rankrun::agent
