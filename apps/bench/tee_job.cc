// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/tee_job.h"

#include "apps/bench/wait.h"

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

namespace rankrun::bench {

using base::failure;
using base::Result;
namespace fs = std::filesystem;

namespace {

// A million lines take seconds, with torchrun on a busy machine minutes.
constexpr base::Duration kRunLimit = std::chrono::minutes(15);

// One read: 0 bytes at the end.
Result<std::size_t> read_some(int console, std::span<char> buffer, base::TimePoint deadline) {
  if (auto ready = wait_readable(console, deadline); !ready) {
    return failure(std::move(ready.error()));
  }
  const ssize_t size = ::read(console, buffer.data(), buffer.size());
  if (size >= 0) return static_cast<std::size_t>(size);
  if (errno == EIO) return std::size_t{0};  // a terminal that nobody has open any more
  return base::errno_failure(errno, "cannot read the console");
}

std::vector<std::string> job_words(const Launcher& launcher,
                                   int workers,
                                   const fs::path& log_dir,
                                   const std::vector<std::string>& arguments) {
  std::error_code ignored;
  std::vector<std::string> words = {launcher.path,
                                    fmt::format("--nproc-per-node={}", workers),
                                    "--tee=3",
                                    "--log-dir=" + log_dir.string(),
                                    "--no-python",
                                    fs::read_symlink("/proc/self/exe", ignored).string(),
                                    "log-worker"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

Result<TeeJob> TeeJob::start(const Bench& bench,
                             const Launcher& launcher,
                             int workers,
                             const std::vector<std::string>& arguments,
                             ConsoleKind kind) {
  Result<ConsoleEnds> console = open_console(kind);
  if (!console) return failure(std::move(console.error()));
  const fs::path log_dir = bench.place.folder() / "logs";
  std::error_code ignored;
  fs::remove_all(log_dir, ignored);
  Command command = bench.place.command(job_words(launcher, workers, log_dir, arguments));
  command.stdout_fd = console->write_end.get();
  Result<Program> program = Program::start(command);
  if (!program) return failure(std::move(program.error()));
  return TeeJob(std::move(command), std::move(*program), std::move(console->read_end));
}

TeeJob::TeeJob(Command command, Program program, base::UniqueFd console)
    : command_(std::move(command)), program_(std::move(program)), console_(std::move(console)) {}

Result<void> TeeJob::read_all(const std::function<void(std::string_view)>& accept) {
  const base::TimePoint deadline = program_.started() + kRunLimit;
  std::array<char, std::size_t{64} << 10> buffer{};
  for (;;) {
    const Result<std::size_t> size = read_some(console_.get(), buffer, deadline);
    if (!size) return failure(size.error().within("reading what the launcher shows"));
    if (*size == 0) break;
    accept({buffer.data(), *size});
  }
  const Result<Finished> finished = program_.wait(deadline);
  if (!finished) return failure(finished.error());
  return require_end(command_, *finished);
}

}  // namespace rankrun::bench
