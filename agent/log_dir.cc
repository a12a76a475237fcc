// SPDX-License-Identifier: Apache-2.0
#include "agent/log_dir.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>

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
  if (kind_ != Kind::named) return {};
  for (int local_rank = 0; local_rank < workers; ++local_rank) {
    const fs::path folder = fs::path(error_file(local_rank)).parent_path();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      return failure(error, "cannot create log directory '" + folder.string() + "'", kRemedy);
    }
  }
  return {};
}

std::string LogDir::error_file(int local_rank) const {
  const std::string attempt = "attempt_" + std::to_string(attempts_ - 1);
  const std::string rank = std::to_string(local_rank);
  switch (kind_) {
    case Kind::none:
      break;
    case Kind::temporary:
    case Kind::kept:
      return (run_ / (attempt + "_rank_" + rank + "_error.json")).string();
    case Kind::named:
      return (run_ / attempt / rank / "error.json").string();
  }
  return {};
}

std::optional<std::string> LogDir::close(bool keep_errors) {
  if (kind_ != Kind::temporary) return std::nullopt;
  std::error_code unreadable;  // then there is nothing to keep
  if (keep_errors && !fs::is_empty(run_, unreadable) && !unreadable) {
    kind_ = Kind::kept;  // the user's from now on
    return run_.string();
  }
  std::error_code ignored;
  // File by file, never recursively: nothing that we did not put there is worth the risk.
  for (; attempts_ > 0; --attempts_) {
    for (int local_rank = 0; local_rank < most_workers_; ++local_rank) {
      fs::remove(error_file(local_rank), ignored);
    }
  }
  fs::remove(run_, ignored);
  kind_ = Kind::none;
  return std::nullopt;
}

}  // namespace rankrun::agent
