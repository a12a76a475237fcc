// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/log_worker.h"

#include "apps/bench/log_work.h"
#include "store/base/clock.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>

namespace rankrun::bench {

using base::Result;

namespace {

// Long enough that the launcher has nothing else to do when the next stamp comes.
constexpr base::Duration kBetweenStamps = std::chrono::milliseconds(5);
constexpr base::Duration kBeforeStamps = std::chrono::milliseconds(300);

Result<void> write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return base::errno_failure(errno, "cannot write to stdout");
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_stamps(int count) {
  std::this_thread::sleep_for(kBeforeStamps);
  Result<void> written;
  for (int i = 0; i < count && written; ++i) {
    written = write_all(encode_stamp(base::Clock::now()));
    std::this_thread::sleep_for(kBetweenStamps);
  }
  return written;
}

Result<void> write_lines(const LogWorkerOptions& options) {
  LogWork work(options.rank, options.lines, options.seed);
  for (auto step = work.next(); !step.piece.empty(); step = work.next()) {
    if (auto written = write_all(step.piece); !written) return written;
    if (step.pause > base::Duration::zero()) std::this_thread::sleep_for(step.pause);
  }
  return {};
}

}  // namespace

Result<void> run_log_worker(const LogWorkerOptions& options) {
  return options.stamps > 0 ? write_stamps(options.stamps) : write_lines(options);
}

}  // namespace rankrun::bench
