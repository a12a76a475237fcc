// SPDX-License-Identifier: Apache-2.0
// Workers per CPU core in a real cgroup with a quota.
#include "tests/support/rankrun_case.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace rankrun::tests {
namespace {

namespace fs = std::filesystem;

bool write_to(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  return out.good();
}

// A cgroup that allows one core, with one below it that sets no limit of its own. Removed at the
// end.
class OneCore {
 public:
  OneCore() : OneCore("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "100000") {
    if (!is_limited_) {
      remove();
      set_up("/sys/fs/cgroup", "cpu.max", "100000 100000");
    }
  }
  ~OneCore() { remove(); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

  bool is_limited() const { return is_limited_; }
  fs::path processes() const { return below_ / "cgroup.procs"; }

 private:
  OneCore(const fs::path& hierarchy, const char* file, const char* limit) {
    set_up(hierarchy, file, limit);
  }
  void set_up(const fs::path& hierarchy, const char* file, const char* limit) {
    folder_ = hierarchy / ("rankrun-test-" + std::to_string(::getpid()));
    below_ = folder_ / "below";
    std::error_code refused;
    fs::create_directories(below_, refused);
    is_limited_ = !refused && fs::exists(folder_ / file) && write_to(folder_ / file, limit);
  }
  void remove() const {
    std::error_code ignored;
    fs::remove(below_, ignored);  // not remove_all: the files of a cgroup stay
    fs::remove(folder_, ignored);
  }

  fs::path folder_;
  fs::path below_;
  bool is_limited_ = false;
};

}  // namespace

TEST_CASE("the number of workers per CPU obeys the quota of a cgroup above", "[e2e][cpu_quota]") {
  const OneCore one_core;
  if (!one_core.is_limited()) {
    WARN("SKIPPED: no cgroup with a CPU quota can be made here (root is needed)");
    return;
  }
  if (std::thread::hardware_concurrency() < 2) {
    WARN("SKIPPED: one core is all that there is");
    return;
  }
  RankrunCase rankrun;
  const std::string processes = one_core.processes();
  const std::vector<std::string> arguments{
      "--nproc-per-node=cpu", "--no-python", "sh", "-c", "echo worker"};
  const RunResult free = rankrun.run(arguments);
  CHECK(lines_of(free.out).size() > 1);
  rankrun.before_exec([&processes] {
    if (!write_to(processes, "0")) ::_exit(126);
  });
  const RunResult limited = rankrun.run(arguments);
  CHECK_THAT(limited, ExitsWith(0));
  CHECK(lines_of(limited.out).size() == 1);
}

}  // namespace rankrun::tests
