// SPDX-License-Identifier: Apache-2.0
#include "agent/log_dir.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace rankrun::agent {

using base::failure;
using base::Result;
namespace fs = std::filesystem;

namespace {

constexpr auto kRemedy =
    "name a writable directory with --log-dir, or --log-dir=/dev/null for none";

Result<fs::path> make_unique_directory(const fs::path& prefix) {
  std::string name = prefix.string() + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return base::errno_failure(errno, "cannot create log directory '" + name + "'", kRemedy);
  }
  return fs::path(name);
}

// A run id is free text; as part of a folder's name it must stay one component.
std::string folder_name(std::string run_id) {
  std::replace(run_id.begin(), run_id.end(), '/', '_');
  constexpr std::size_t kLongest = 200;
  return run_id.substr(0, kLongest);
}

}  // namespace

Result<LogDir> LogDir::create(const std::optional<std::string>& base,
                              const std::string& temp_dir,
                              const std::string& run_id) {
  LogDir dir;
  if (base == "/dev/null") return dir;
  std::error_code error;
  // Absolute, since a worker may change its directory.
  fs::path prefix = fs::absolute(temp_dir, error) / "rankrun_";
  dir.kind_ = base ? Kind::named : Kind::temporary;
  if (base) {
    fs::create_directories(*base, error);
    if (error) return failure(error, "cannot create log directory '" + *base + "'", kRemedy);
    prefix = fs::absolute(*base, error) / (folder_name(run_id) + "_");
  }
  auto run = make_unique_directory(prefix);
  if (!run) return failure(std::move(run.error()));
  dir.run_ = *run;
  return dir;
}

Result<void> LogDir::open_attempt(int workers) {
  ++attempts_;
  most_workers_ = std::max(most_workers_, workers);
  is_open_ = kind_ != Kind::none;
  if (kind_ != Kind::named) return {};
  std::vector<fs::path> folders{run_, attempt_prefix()};  // the run's may have been removed
  for (int local_rank = 0; local_rank < workers; ++local_rank) {
    folders.push_back(attempt_prefix() / std::to_string(local_rank));
  }
  for (const fs::path& folder : folders) {
    if (::mkdir(folder.c_str(), 0700) == 0 || (errno == EEXIST && folder == run_)) continue;
    is_open_ = false;
    return base::errno_failure(errno,
                               "cannot create log directory '" + folder.string() + "'",
                               "this attempt goes on without log and error files");
  }
  return {};
}

fs::path LogDir::attempt_prefix() const {
  return run_ / ("attempt_" + std::to_string(attempts_ - 1));
}

std::string LogDir::worker_file(int local_rank, const std::string& name) const {
  if (!is_open_) return {};
  const std::string rank = std::to_string(local_rank);
  if (kind_ == Kind::named) return (attempt_prefix() / rank / name).string();
  return attempt_prefix().string() + "_rank_" + rank + "_" + name;
}

std::string LogDir::log_file(int local_rank, Stream stream) const {
  return worker_file(local_rank, stream == Stream::out ? "stdout.log" : "stderr.log");
}

std::string LogDir::filtered_file(Stream stream) const {
  if (!is_open_) return {};
  const char* name = stream == Stream::out ? "filtered_stdout.log" : "filtered_stderr.log";
  if (kind_ == Kind::named) return (attempt_prefix() / name).string();
  return attempt_prefix().string() + "_" + name;
}

void LogDir::remove_heartbeats() const {
  std::error_code ignored;
  for (int local_rank = 0; local_rank < most_workers_; ++local_rank) {
    fs::remove(heartbeat_file(local_rank), ignored);
  }
}

std::optional<std::string> LogDir::close(bool keep_files) {
  if (kind_ != Kind::temporary) return std::nullopt;
  std::error_code ignored;
  // Empty, as most often; or not there any more. Else there is something to keep, or to remove file
  // by file, never recursively: nothing that we did not put there is worth the risk.
  if (fs::remove(run_, ignored) || !fs::exists(run_, ignored)) {
    kind_ = Kind::none;
    return std::nullopt;
  }
  if (keep_files) {
    kind_ = Kind::kept;  // the user's from now on
    return run_.string();
  }
  for (; attempts_ > 0; --attempts_) {
    for (const Stream stream : {Stream::out, Stream::err}) {
      fs::remove(filtered_file(stream), ignored);
      for (int local_rank = 0; local_rank < most_workers_; ++local_rank) {
        fs::remove(log_file(local_rank, stream), ignored);
        fs::remove(error_file(local_rank), ignored);
      }
    }
  }
  fs::remove(run_, ignored);
  kind_ = Kind::none;
  return std::nullopt;
}

}  // namespace rankrun::agent
