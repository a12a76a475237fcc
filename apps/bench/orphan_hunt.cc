// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/orphan_hunt.h"

#include "apps/bench/wait.h"
#include "store/base/pidfd.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <system_error>
#include <utility>

namespace rankrun::bench {

using base::Clock;
using base::failure;
using base::Result;
namespace fs = std::filesystem;

namespace {

constexpr base::Duration kStartLimit = std::chrono::minutes(1);
constexpr base::Duration kGoneLimit = std::chrono::seconds(1);
// A worker that was on its way when its launcher was killed shows itself within this.
constexpr base::Duration kSettle = std::chrono::milliseconds(20);

Result<Quarry> make_quarry(const fs::path& path) {
  if (::mkfifo(path.c_str(), 0600) != 0) return base::errno_failure(errno, "cannot make a FIFO");
  base::UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!reader) return base::errno_failure(errno, "cannot read a FIFO");
  return Quarry(path, std::move(reader));
}

Command command_of(const Bench& bench,
                   const Launcher& launcher,
                   const Hunt& hunt,
                   const fs::path& fifo) {
  std::error_code ignored;
  std::vector<std::string> words;
  if (!hunt.limits.empty()) {
    words = {"/bin/sh", "-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"", hunt.limits};
  }
  words.push_back(launcher.path);
  words.insert(words.end(), hunt.flags.begin(), hunt.flags.end());
  for (const std::string& word : {std::string("--no-python"),
                                  fs::read_symlink("/proc/self/exe", ignored).string(),
                                  std::string("orphan-tree"),
                                  fmt::format("--kind={}", name(hunt.kind)),
                                  "--fifo=" + fifo.string()}) {
    words.push_back(word);
  }
  return bench.place.command(std::move(words));
}

// The adopted ones that have ended: they count where processes are limited.
void reap_orphans() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

Result<pid_t> victim_of(const Hunt& hunt, const Program& program, const Quarry& quarry) {
  if (!hunt.kills_worker) return program.pid();
  return quarry.worker(Clock::now() + kStartLimit);
}

// Among hundreds that fork without end even a process with SIGKILL needs a while to die.
Result<void> kill_and_wait(pid_t victim) {
  const base::UniqueFd pidfd = base::open_pidfd(victim);
  if (!pidfd) return base::errno_failure(errno, "cannot watch the victim");
  ::kill(victim, SIGKILL);
  return wait_readable(pidfd.get(), Clock::now() + kStartLimit);
}

bool holds_open(const fs::path& process, const fs::path& file) {
  std::error_code ignored;
  auto entry = fs::directory_iterator(process / "fd", ignored);
  for (; entry != fs::directory_iterator(); entry.increment(ignored)) {
    if (fs::read_symlink(entry->path(), ignored) == file) return true;
  }
  return false;
}

}  // namespace

std::string Hunt::describe() const {
  std::string text = fmt::format("{}, {} killed after {:.2f} ms",
                                 name(kind),
                                 kills_worker ? "worker" : "launcher",
                                 milliseconds(after));
  for (const std::string& flag : flags) {
    text += ", " + flag;
  }
  return text;
}

bool Quarry::is_gone() const {
  std::array<char, 256> buffer{};
  ssize_t size = 0;
  do {
    size = ::read(reader_.get(), buffer.data(), buffer.size());
  } while (size > 0);
  return size == 0;
}

Result<void> Quarry::wait_until_gone(base::TimePoint deadline) const {
  while (!is_gone()) {
    if (auto ready = wait_readable(reader_.get(), deadline); !ready) return ready;
  }
  return {};
}

Result<pid_t> Quarry::worker(base::TimePoint deadline) const {
  for (;;) {
    if (auto ready = wait_readable(reader_.get(), deadline); !ready) {
      return failure(ready.error().within("waiting for a worker"));
    }
    std::array<char, 32> line{};
    const ssize_t size = ::read(reader_.get(), line.data(), line.size());
    pid_t pid = 0;
    if (size > 0) std::from_chars(line.data(), line.data() + size, pid);
    if (pid > 1) return pid;
    if (size == 0) return failure({}, "the worker ended before it was found");
  }
}

int Quarry::kill_survivors() const {
  int killed = 0;
  constexpr int kRounds = 100;
  const pid_t self = ::getpid();  // reads it
  for (int i = 0; i < kRounds && !is_gone(); ++i) {
    std::error_code ignored;
    auto entry = fs::directory_iterator("/proc", ignored);
    for (; entry != fs::directory_iterator(); entry.increment(ignored)) {
      const std::string number = entry->path().filename();
      pid_t pid = 0;
      std::from_chars(number.data(), number.data() + number.size(), pid);
      const bool survives = pid > 1 && pid != self && holds_open(entry->path(), path_);
      if (survives && ::kill(pid, SIGKILL) == 0 && i == 0) ++killed;
    }
  }
  return killed;
}

Result<HuntResult> hunt(const Bench& bench,
                        const Launcher& launcher,
                        const Hunt& hunt,
                        const std::string& fifo) {
  const fs::path path = bench.place.folder() / fifo;
  Result<Quarry> quarry = make_quarry(path);
  if (!quarry) return failure(std::move(quarry.error()));
  Result<Program> program = Program::start(command_of(bench, launcher, hunt, path));
  if (!program) return failure(std::move(program.error()));
  const Result<pid_t> victim = victim_of(hunt, *program, *quarry);
  if (!victim) return failure(victim.error());
  if (auto paused = pause_for(hunt.after); !paused) return failure(std::move(paused.error()));

  if (auto ended = kill_and_wait(*victim); !ended) return failure(std::move(ended.error()));
  const base::TimePoint killed = Clock::now();
  auto gone = quarry->wait_until_gone(killed + kGoneLimit);
  const base::Duration took = Clock::now() - killed;
  if (gone) gone = pause_for(kSettle);
  if (gone) gone = quarry->wait_until_gone(killed + kGoneLimit);
  if (!gone && was_interrupted(gone.error())) return failure(std::move(gone.error()));
  // What ends by itself while it is looked for has survived, too.
  const int survivors = gone ? 0 : std::max(1, quarry->kill_survivors());
  const auto ended = program->wait(Clock::now() + kStartLimit);
  if (!ended) return failure(ended.error().within("waiting for the launcher's end"));
  reap_orphans();
  return HuntResult{*std::move(quarry), took, survivors};
}

}  // namespace rankrun::bench
