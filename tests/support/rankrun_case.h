// SPDX-License-Identifier: Apache-2.0
// One rankrun under test: a fresh folder, a known environment, deadlines, and a check for leftovers
// when the test case is over. Belongs to one single-threaded test process.
#pragma once

#include "agent/exit_status.h"
#include "store/base/clock.h"
#include "store/base/unique_fd.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankrun::tests {

using Environment = std::map<std::string, std::string, std::less<>>;

/// What rankrun may use at most while a console is slow; a sanitizer needs memory of its own.
#ifdef __SANITIZE_ADDRESS__
inline constexpr unsigned long kMostKib = 1 << 20;
#else
inline constexpr unsigned long kMostKib = 16 << 10;
#endif

/// How a run of rankrun ended.
struct RunResult {
  agent::ExitStatus status;
  std::string out;
  std::string err;
  base::Duration wall;
};

std::ostream& operator<<(std::ostream& out, const RunResult& result);

/// The program that a case runs: rankrun, or another launcher to compare it with.
struct Launcher {
  std::string program;                 ///< a path
  std::vector<std::string> arguments;  ///< before those of a run
  /// Leftovers are rankrun's failures; those of others are removed without a word.
  bool may_leave_things = false;
};

/// CHECK_THAT(result, ExitsWith(143)): by exit, not by a signal of that number.
class ExitsWith final : public Catch::MatcherBase<RunResult> {
 public:
  explicit ExitsWith(int code) : code_(code) {}
  bool match(const RunResult& result) const override;
  std::string describe() const override;

 private:
  int code_;
};

/// A variable of the test's own environment, which rankrun does not inherit.
std::optional<std::string> callers_variable(std::string_view name);

/// The variables in a file that a worker copied from /proc/self/environ.
Environment parse_environ(std::string_view bytes);

std::vector<std::string> lines_of(std::string_view text);

class RankrunCase {
 public:
  /// No single wait takes longer than `limit`.
  explicit RankrunCase(base::Duration limit = std::chrono::seconds(40));
  /// Fails the test case, without throwing, for whatever is left: processes with the marker (which
  /// are then killed), entries of TMPDIR, ports that cannot be bound.
  ~RankrunCase();
  RankrunCase(const RankrunCase&) = delete;
  RankrunCase& operator=(const RankrunCase&) = delete;

  /// The working directory of rankrun and its workers, so that these use plain file names. TMPDIR
  /// is a folder of its own below it.
  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path temp_folder() const { return folder() / "tmp"; }
  /// For what rankrun has kept on purpose. Deletes by the fixture's own path, never by one that the
  /// program under test has told: if that is wrong, it may be anybody's folder.
  void empty_temp_folder() const;

  /// Writes a file below the folder, with its parents; returns its absolute path.
  std::string write(const std::string& name,
                    const std::string& text,
                    std::filesystem::perms mode = std::filesystem::perms(0644)) const {
    return folder_.file(name, text, mode);
  }
  /// The same, as a /bin/sh program.
  std::string write_program(const std::string& name, const std::string& body) const;
  /// A program that tells the fixture its MASTER_PORT before it does `body`.
  std::string write_worker(const std::string& body) const;

  std::string read(const std::string& name) const;
  bool exists(const std::string& name) const;

  /// What rankrun gets: PATH, HOME, TMPDIR and the marker of this case, and what a test sets.
  const Environment& environment() const { return environment_; }
  void set(const std::string& name, const std::string& value) { environment_[name] = value; }

  /// Instead of rankrun as it was built.
  void launch_with(Launcher launcher) { launcher_ = std::move(launcher); }
  const Launcher& launcher() const { return launcher_; }

  /// Done in the child right before rankrun is executed; for descriptors and signals.
  void before_exec(std::function<void()> step) { before_exec_ = std::move(step); }

  /// A command that gets rankrun's as its arguments, and starts it; searched in PATH.
  void start_through(std::vector<std::string> wrapper) { wrapper_ = std::move(wrapper); }

  /// Starts rankrun and waits for its end.
  RunResult run(const std::vector<std::string>& arguments);

  /// The same in two steps. Fails the test case when rankrun does not end within the limit.
  void start(const std::vector<std::string>& arguments);
  RunResult wait();
  /// Whether rankrun ends within `limit`; wait() then returns at once.
  bool ends_within(base::Duration limit) const;

  pid_t pid() const { return pid_; }
  /// Its stderr so far.
  std::string error_text() const;
  /// Sends to rankrun's process alone.
  void signal(int number) const;

  /// Waits for something while rankrun runs; false when rankrun ends without it. Fails the test
  /// case at the limit.
  bool happens(const std::string& what, const std::function<bool()>& condition);
  /// The same; they also fail the test case when rankrun ends.
  void wait_until(const std::string& what, const std::function<bool()>& condition);
  void wait_for_file(const std::string& name);
  void wait_for_error_text(const std::string& text);

  /// A port to check at the end, beside those the workers told.
  void claim_port(std::uint16_t port) { ports_.push_back(port); }
  /// MASTER_PORT of every worker so far, in order of their starts.
  std::vector<std::uint16_t> worker_ports() const;

 private:
  [[noreturn]] void run_child(const std::vector<std::string>& arguments) const noexcept;
  bool end_abandoned_run();
  std::map<pid_t, std::string> marked_processes() const;
  void check_processes(bool was_abandoned) const;
  void kill_marked_processes() const;
  void check_temp_folder() const;
  void check_ports() const;

  base::Duration limit_;
  Launcher launcher_;
  TempDir folder_;
  Environment environment_;
  std::string marker_;
  std::function<void()> before_exec_;
  std::vector<std::string> wrapper_;
  std::vector<std::uint16_t> ports_;
  pid_t pid_ = -1;        // of the last run
  base::UniqueFd pidfd_;  // open while rankrun is unreaped
  base::TimePoint started_;
};

}  // namespace rankrun::tests
