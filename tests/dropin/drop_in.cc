// SPDX-License-Identifier: Apache-2.0
#include "tests/dropin/drop_in.h"

#include "tests/dropin/recorder.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

namespace rankrun::tests {

namespace fs = std::filesystem;

namespace {

// A start of torchrun takes 2 s of a CPU, and the tests share the machine with others.
constexpr base::Duration kLimit = std::chrono::seconds(40);
constexpr base::Duration kTorchrunLimit = std::chrono::seconds(100);
constexpr base::Duration kSoon = std::chrono::seconds(5);

std::optional<Launcher> torchrun() {
  const auto program = callers_variable("RANKRUN_PEER_TORCHRUN_NEWEST");
  if (program) return Launcher{*program, {}, true};
  std::cout << "SKIPPED: "
            << callers_variable("RANKRUN_PEER_SKIP_REASON_NEWEST")
                   .value_or("set RANKRUN_PEER_TORCHRUN_NEWEST or run deploy/test.sh --peers")
            << std::endl;
  return std::nullopt;
}

std::vector<std::string> with_worker(std::vector<std::string> options) {
  options.insert(options.end(), {"--no-python", "./worker"});
  return options;
}

std::string text_of(const RunResult& result) {
  std::ostringstream text;
  text << result;
  return text.str();
}

}  // namespace

DropIn::DropIn(const std::optional<Launcher>& other)
    : RankrunCase(other ? kTorchrunLimit : kLimit) {
  if (other) launch_with(*other);
}

void DropIn::torchrun_differs(std::string reason, std::vector<std::string> expectations) {
  reason_ = std::move(reason);
  differing_ = std::move(expectations);
}

RunResult DropIn::run(const std::vector<std::string>& arguments) {
  start(arguments);
  return wait();
}

void DropIn::start(const std::vector<std::string>& arguments) {
  command_ = launcher().program;
  for (const auto* words : {&launcher().arguments, &arguments}) {
    for (const std::string& word : *words) {
      command_ += " '" + word.substr(0, 200) + "'";
    }
  }
  command_.resize(std::min<std::size_t>(command_.size(), 2000));
  seen_ = "(it runs)";
  RankrunCase::start(arguments);
}

RunResult DropIn::wait() {
  RunResult result = RankrunCase::wait();
  seen_ = text_of(result);
  return result;
}

RunResult DropIn::run_worker(const std::string& body, std::vector<std::string> options) {
  start_worker(body, std::move(options));
  return wait();
}

void DropIn::start_worker(const std::string& body, std::vector<std::string> options) {
  write_worker(body);
  start(with_worker(std::move(options)));
}

bool DropIn::expect(bool holds, const std::string& name, const std::string& got) {
  std::ostringstream text;
  if (!holds) {
    text << "expected: " << name << "\n" << (got.empty() ? "" : "got: " + got + "\n");
    text << "command: " << command_ << "\n" << seen_;
  }
  const bool is_new = expectations_.emplace(name, Expectation{holds, text.str()}).second;
  if (!is_new) FAIL("two expectations with the name '" << name << "'");
  return holds;
}

void DropIn::expect_equal(const std::string& name,
                          const std::string& got,
                          const std::string& expected) {
  expect(got == expected, name, "'" + got + "' instead of '" + expected + "'");
}

void DropIn::expect_contains(const std::string& name,
                             std::string_view text,
                             const std::string& part) {
  expect(text.find(part) != std::string_view::npos,
         name,
         "no '" + part + "' in '" + std::string(text) + "'");
}

void DropIn::expect_exit(const RunResult& result, int code, const std::string& name) {
  std::ostringstream got;
  got << (result.status.was_signaled() ? "killed by signal " : "exited with ")
      << (result.status.was_signaled() ? result.status.signal() : result.status.code())
      << " instead of " << code;
  expect(result.status == agent::ExitStatus::exited(code), name, got.str());
}

bool DropIn::expect_file(const std::string& file) {
  const bool is_there = happens("file " + file, [&] { return exists(file); });
  if (!is_there) wait();
  return expect(is_there, "file " + file + " appears");
}

bool DropIn::expect_watching() {
  if (!is_torchrun()) return true;
  const std::string file = "/proc/" + std::to_string(pid()) + "/syscall";
  const std::string sleeping = std::to_string(SYS_clock_nanosleep) + " ";
  const bool is_watching = happens("a look at the workers", [&] {
    std::string line;
    std::getline(std::ifstream(file), line);
    return line.starts_with(sleeping);
  });
  if (!is_watching) wait();
  return expect(is_watching, "the launcher watches its workers");
}

bool DropIn::expect_error_text(const std::string& text) {
  const std::string name = "'" + text + "' on stderr";
  const auto is_there = [&] { return error_text().find(text) != std::string::npos; };
  const bool holds = happens(name, is_there);
  if (!holds) wait();
  return expect(holds, name);
}

bool DropIn::expect_soon(const std::string& name, const std::function<bool()>& condition) {
  const base::TimePoint deadline = base::Clock::now() + kSoon;
  while (!condition()) {
    if (base::Clock::now() >= deadline) return expect(false, name);
    ::poll(nullptr, 0, 5);
  }
  return expect(true, name);
}

RunResult DropIn::expect_end_within(std::chrono::seconds limit, const std::string& name) {
  const bool in_time = ends_within(limit);
  if (!in_time) signal(SIGKILL);
  RunResult result = wait();
  expect(in_time, name, "still running after " + std::to_string(limit.count()) + " s");
  return result;
}

std::string DropIn::log(const std::string& file, const std::string& base) const {
  std::error_code error;
  std::vector<fs::path> jobs;
  for (const auto& job : fs::directory_iterator(folder() / base, error)) {
    jobs.push_back(base / job.path().filename());
  }
  if (jobs.size() != 1) return "(" + std::to_string(jobs.size()) + " jobs in " + base + ")";
  const fs::path path = jobs.front() / file;
  return exists(path) ? read(path) : "(no " + path.string() + ")";
}

void DropIn::judge() const {
  if (is_torchrun()) {
    judge_torchrun();
  } else {
    judge_rankrun();
  }
}

void DropIn::judge_rankrun() const {
  CHECK_FALSE(expectations_.empty());
  for (const std::string& name : differing_) {
    if (!expectations_.contains(name)) FAIL_CHECK("declared, but never checked: " << name);
  }
  for (const auto& [name, expectation] : expectations_) {
    if (!expectation.holds) FAIL_CHECK(expectation.text);
  }
}

void DropIn::judge_torchrun() const {
  for (const std::string& name : differing_) {
    const auto found = expectations_.find(name);
    if (found == expectations_.end()) {
      FAIL_CHECK("declared to differ, but never checked: " << name);
    } else if (found->second.holds) {
      FAIL_CHECK("declared to differ, but torchrun does it, too: " << name << "\ncommand: "
                                                                   << command_ << "\n"
                                                                   << seen_);
    }
  }
  for (const auto& [name, expectation] : expectations_) {
    const bool is_declared =
        std::find(differing_.begin(), differing_.end(), name) != differing_.end();
    if (!expectation.holds && !is_declared) FAIL_CHECK(expectation.text);
  }
}

Environment environment_of(const DropIn& job, int rank) {
  return parse_environ(job.read("environ." + std::to_string(rank)));
}

std::string value_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "(unset)" : found->second;
}

RunResult expect_refused(DropIn& job,
                         const std::vector<std::string>& options,
                         int code,
                         const std::string& reason) {
  RunResult result = job.run_worker("touch started", options);
  job.expect_exit(result, code);
  job.expect_contains("stderr names the reason", result.err, reason);
  job.expect(!job.exists("started"), "nothing starts");
  return result;
}

void run_drop_in(void (*body)(DropIn&)) {
  std::optional<Launcher> other;
  if (is_about_torchrun()) {
    other = torchrun();
    if (!other) return;
  }
  DropIn job(other);
  body(job);
  job.judge();
  note_outcome(job.is_torchrun() ? job.reason() : "");
}

}  // namespace rankrun::tests
