// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/workplace.h"

#include "apps/bench/machine.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace rankrun::bench {

using base::Result;
namespace fs = std::filesystem;

namespace {

// Killing a child can hand us its children, so look again until there are none.
void kill_orphans() {
  for (auto orphans = children_of(::getpid()); !orphans.empty();
       orphans = children_of(::getpid())) {
    for (const pid_t orphan : orphans) {
      ::kill(orphan, SIGKILL);
      ::waitpid(orphan, nullptr, 0);
    }
  }
}

}  // namespace

Result<Workplace> Workplace::open(std::vector<std::string> environment) {
  std::error_code error;
  std::string folder = fs::temp_directory_path(error) / "rankbench-XXXXXX";
  if (error || ::mkdtemp(folder.data()) == nullptr) {
    return base::errno_failure(
        error ? error.value() : errno, "cannot make a temporary folder", "set TMPDIR");
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::erase_if(environment, [](const std::string& entry) { return entry.starts_with("TMPDIR="); });
  environment.push_back("TMPDIR=" + folder);
  return Workplace(std::move(folder), std::move(environment));
}

Workplace::Workplace(fs::path folder, std::vector<std::string> environment)
    : folder_(std::move(folder)), environment_(std::move(environment)) {}

Workplace::Workplace(Workplace&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), environment_(std::move(other.environment_)) {}

Workplace::~Workplace() {
  if (folder_.empty()) return;
  kill_orphans();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Command Workplace::command(std::vector<std::string> words) const {
  return {.words = std::move(words), .environment = environment_, .stdout_fd = -1};
}

}  // namespace rankrun::bench
