// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include "tests/dropin/recorder.h"

#include "tests/support/rankrun_case.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace rankrun::tests {

namespace fs = std::filesystem;

namespace {

// Test cases run one after the other, in one thread.
bool about_torchrun = false;
std::optional<std::string> noted_difference;

class Recorder final : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo& run) override {
    about_torchrun = run.name == "torchrun";
  }

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    TestEventListenerBase::testCaseStarting(info);
    noted_difference.reset();
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    TestEventListenerBase::testCaseEnded(stats);
    const bool failed = stats.totals.assertions.failed > 0;
    const auto folder = callers_variable("RANKRUN_DROPIN_RESULTS");
    if (folder && (failed || noted_difference)) write_line(*folder, stats.testInfo, failed);
  }

 private:
  static void write_line(const fs::path& folder, const Catch::TestCaseInfo& info, bool failed) {
    const std::string difference = noted_difference.value_or("");
    std::ostringstream line;
    line << fs::path(info.lineInfo.file).filename().string() << '\t' << info.lineInfo.line << '\t'
         << info.name << '\t'
         << (failed               ? "fails"
             : difference.empty() ? "passes"
                                  : "differs")
         << '\t' << difference << '\n';
    fs::create_directories(folder);
    // One write of a short text: other processes append at the same time.
    std::ofstream(folder / (about_torchrun ? "torchrun.tsv" : "rankrun.tsv"), std::ios::app)
        << line.str() << std::flush;
  }
};

CATCH_REGISTER_LISTENER(Recorder)

}  // namespace

bool is_about_torchrun() {
  return about_torchrun;
}

void note_outcome(const std::string& difference) {
  noted_difference = difference;
}

}  // namespace rankrun::tests
