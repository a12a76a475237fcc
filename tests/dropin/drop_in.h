// SPDX-License-Identifier: Apache-2.0
// A case that runs through rankrun and, unchanged, through the real torchrun. It records what a
// user may expect; where torchrun does not give that, the case says so, and then torchrun must
// really not. The run's name (--name) chooses: `dropin_test --name torchrun` is about torchrun.
#pragma once

#include "tests/support/rankrun_case.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::tests {

class DropIn final : private RankrunCase {
 public:
  /// About `other`, or about rankrun.
  explicit DropIn(const std::optional<Launcher>& other);

  using RankrunCase::before_exec;
  using RankrunCase::exists;
  using RankrunCase::folder;
  using RankrunCase::launch_with;
  using RankrunCase::launcher;
  using RankrunCase::read;
  using RankrunCase::set;
  using RankrunCase::signal;
  using RankrunCase::temp_folder;
  using RankrunCase::worker_ports;
  using RankrunCase::write;
  using RankrunCase::write_program;
  using RankrunCase::write_worker;

  bool is_torchrun() const { return launcher().may_leave_things; }

  /// Declares that torchrun meets none of the expectations with these names, and why.
  void torchrun_differs(std::string reason, std::vector<std::string> expectations);

  /// Starts the launcher and waits for its end. The two-step form is for what happens meanwhile.
  RunResult run(const std::vector<std::string>& arguments);
  void start(const std::vector<std::string>& arguments);
  RunResult wait();

  /// Writes ./worker, a /bin/sh program, and runs it as every worker.
  RunResult run_worker(const std::string& body, std::vector<std::string> options = {});
  void start_worker(const std::string& body, std::vector<std::string> options = {});

  // Expectations: each has a name, unique in its case. A failed one is only noted, so that those
  // behind it are judged, too.
  bool expect(bool holds, const std::string& name, const std::string& got = "");
  void expect_equal(const std::string& name, const std::string& got, const std::string& expected);
  void expect_contains(const std::string& name, std::string_view text, const std::string& part);
  void expect_exit(const RunResult& result, int code, const std::string& name = "exit code");
  /// Waits while the launcher runs. When false, the case has nothing more to see.
  bool expect_file(const std::string& file);
  /// The launcher has all its workers in view. torchrun forgets those it has started when a signal
  /// comes earlier; it sleeps between two looks at them.
  bool expect_watching();
  /// The same for a text on its stderr.
  bool expect_error_text(const std::string& text);
  /// For what comes true a moment after the launcher's end.
  bool expect_soon(const std::string& name, const std::function<bool()>& condition);
  /// Ends the launcher by force when it does not end within `limit`.
  RunResult expect_end_within(std::chrono::seconds limit, const std::string& name);

  /// What is in a file below the only job of the log directory `base`, as "attempt_0/1/stdout.log".
  std::string log(const std::string& file, const std::string& base = "logs") const;

  /// Fails the test case unless the right expectations were met.
  void judge() const;
  /// Why torchrun differs; empty when it was not declared.
  const std::string& reason() const { return reason_; }

 private:
  struct Expectation {
    bool holds = false;
    std::string text;  // of a failed one: all that is known
  };

  void judge_rankrun() const;
  void judge_torchrun() const;

  std::string reason_;
  std::vector<std::string> differing_;
  std::map<std::string, Expectation> expectations_;
  std::string command_;  // of the last run
  std::string seen_;     // its end and output
};

/// A worker's line that leaves its variables for environment_of().
inline constexpr auto kWriteEnvironment = R"(cat /proc/self/environ >"environ.$RANK"
)";
Environment environment_of(const DropIn& job, int rank);
/// The value, or a text that says that there is none.
std::string value_of(const Environment& environment, std::string_view name);

/// Runs a worker in vain, as "exit code", "stderr names the reason" and "nothing starts" expect.
RunResult expect_refused(DropIn& job,
                         const std::vector<std::string>& options,
                         int code,
                         const std::string& reason);

/// Runs one case with the launcher that this run is about, or skips it.
void run_drop_in(void (*body)(DropIn&));

}  // namespace rankrun::tests

/// A test case whose body is called with a `DropIn& job`.
#define RANKRUN_DROP_IN_CASE_AS(function, name)      \
  static void function(rankrun::tests::DropIn& job); \
  TEST_CASE(name, "[drop_in]") {                     \
    rankrun::tests::run_drop_in(function);           \
  }                                                  \
  static void function(rankrun::tests::DropIn& job)
#define RANKRUN_DROP_IN_CASE(name) \
  RANKRUN_DROP_IN_CASE_AS(INTERNAL_CATCH_UNIQUE_NAME(drop_in_case_), name)
