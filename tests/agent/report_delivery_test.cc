// SPDX-License-Identifier: Apache-2.0
#include "agent/report_delivery.h"

#include "tests/support/job_reports.h"
#include "tests/support/pipe.h"
#include "tests/support/run_loop.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <spdlog/sinks/ostream_sink.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rankrun::agent {
namespace {

using Catch::Contains;
using nlohmann::json;
using tests::failed_job;
using tests::failed_worker;
namespace fs = std::filesystem;

struct Setup {
  // What the console shows of the delivery.
  std::string deliver(const JobReport& report) {
    boost::asio::io_context loop{1};
    tests::Pipe pipe;
    Console console(loop.get_executor(), pipe.write_end.get());
    const base::Logger log = base::make_logger(
        "test", spdlog::level::warn, std::make_shared<spdlog::sinks::ostream_sink_mt>(log_text));
    agent::deliver(report, config, console, log);
    tests::run_loop(loop, console.close(base::Duration::zero()));
    return pipe.read_available();
  }

  json read(const std::string& name) const {
    std::ifstream file(dir.path() / name);
    return json::parse(file);
  }

  // A job whose root cause, exit 3, wrote `text` as its error file.
  JobReport job_with_error_file(const std::string& text) const {
    JobReport report = failed_job({failed_worker(1, 3, {})});
    report.workers[0].error_file = read_error_file(dir.file("error.json", text));
    return report;
  }

  void set_parent_file() {
    config.environment["TORCHELASTIC_ERROR_FILE"] = (dir.path() / "parent.json").string();
  }

  tests::TempDir dir;
  LaunchConfig config;
  std::ostringstream log_text;
};

TEST_CASE("a failed job is told on the console and, when asked, as JSON", "[agent][delivery]") {
  Setup setup;
  setup.config.report_file = (setup.dir.path() / "report.json").string();
  CHECK_THAT(setup.deliver(failed_job({failed_worker(1, 3, {})})), Contains("train.py FAILED\n"));
  CHECK(setup.read("report.json")["result"] == "failed");
  CHECK(setup.log_text.str().empty());
}

TEST_CASE("success is told only as JSON, and only when asked", "[agent][delivery]") {
  Setup setup;
  setup.set_parent_file();
  CHECK(setup.deliver(JobReport()).empty());
  CHECK(fs::is_empty(setup.dir.path()));
  setup.config.report_file = (setup.dir.path() / "report.json").string();
  CHECK(setup.deliver(JobReport()).empty());
  CHECK(setup.read("report.json")["result"] == "succeeded");
}

TEST_CASE("a report that cannot be written costs one line", "[agent][delivery]") {
  Setup setup;
  setup.config.report_file = "/no/such/folder/report.json";
  setup.deliver(JobReport());
  CHECK(setup.log_text.str() ==
        "test: warning: cannot write '/no/such/folder/report.json': No such file or directory\n");
}

TEST_CASE("the launcher above gets the file of the root cause with its exit code",
          "[agent][delivery]") {
  Setup setup;
  setup.set_parent_file();
  setup.deliver(setup.job_with_error_file(R"({"message": {"message": "ValueError: 3"}})"));
  CHECK(setup.read("parent.json") ==
        json{{"message", {{"message", "ValueError: 3"}, {"errorCode", 3}}}});
  CHECK(setup.log_text.str().empty());
}

TEST_CASE("what the launcher above already had is overwritten with a warning",
          "[agent][delivery]") {
  Setup setup;
  setup.set_parent_file();
  setup.dir.file("parent.json", "old");
  setup.deliver(setup.job_with_error_file(R"({"message": "plain"})"));
  CHECK(setup.read("parent.json") == json{{"message", "plain"}});
  CHECK_THAT(setup.log_text.str(), Contains("overwriting"));
}

TEST_CASE("without a valid file of the root cause the launcher above gets none",
          "[agent][delivery]") {
  Setup setup;
  setup.set_parent_file();
  setup.deliver(setup.job_with_error_file("broken"));
  setup.deliver(failed_job({failed_worker(1, 3, {})}));
  CHECK_FALSE(fs::exists(setup.dir.path() / "parent.json"));
}

TEST_CASE("trouble of our own reaches the launcher above in an exception's form",
          "[agent][delivery]") {
  Setup setup;
  setup.set_parent_file();
  JobReport report;
  std::string message;
  SECTION("an error") {
    report.ending.error = base::Error{{}, "port 1: taken", ""};
    message = "port 1: taken";
  }
  SECTION("a stop") {
    report.ending.stop_signal = SIGTERM;
    message = "rankrun got SIGTERM";
  }
  setup.deliver(report);
  CHECK(setup.read("parent.json")["message"]["message"] == message);
}

TEST_CASE("an empty name of the file above is none", "[agent][delivery]") {
  Setup setup;
  setup.config.environment["TORCHELASTIC_ERROR_FILE"] = "";
  setup.deliver(setup.job_with_error_file(R"({"message": "plain"})"));
  CHECK(setup.log_text.str().empty());
}

}  // namespace
}  // namespace rankrun::agent
