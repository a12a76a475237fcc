// SPDX-License-Identifier: Apache-2.0
#include "agent/report_json.h"

#include "tests/support/job_reports.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>

namespace rankrun::agent {
namespace {

using nlohmann::json;
using tests::ended_worker;
using tests::failed_job;
using tests::failed_worker;

json parsed(const JobReport& report) {
  return json::parse(format_json(report));
}

TEST_CASE("a kill for lack of memory is told with limit and peak", "[agent][report_json]") {
  JobReport report = failed_job({ended_worker(0, ExitStatus::signaled(SIGKILL, false)),
                                 failed_worker(1, 3, {"a child died"})});
  report.workers[0].memory_kill = OutOfMemory{std::nullopt, 4096};
  report.workers[1].memory_kill = OutOfMemory{8192, std::nullopt};
  const json got = parsed(report);
  CHECK(got["workers"][0]["memory_kill"] ==
        json{{"ended_worker", true}, {"limit", nullptr}, {"peak", 4096}});
  CHECK(got["workers"][1]["memory_kill"] ==
        json{{"ended_worker", false}, {"limit", 8192}, {"peak", nullptr}});
}

TEST_CASE("a failed job is told in full", "[agent][report_json]") {
  JobReport report = failed_job({failed_worker(1, 3, {"CUDA out of memory"}),
                                 ended_worker(0, ExitStatus::signaled(SIGTERM, false), SIGTERM)});
  report.exit_code = 3;
  report.restarts = 2;
  report.workers[0].error_file =
      ErrorFile{"/logs/e.json", WorkerError{"ValueError: 3", "stack"}, ""};
  const json got = parsed(report);
  const json worker_0{{"rank", 0},
                      {"local_rank", 0},
                      {"pid", 4000},
                      {"outcome", "stopped"},
                      {"end",
                       {{"time", 1700000000.5},
                        {"exit_code", nullptr},
                        {"signal", "SIGTERM"},
                        {"core_dumped", false},
                        {"stop_signal", "SIGTERM"}}},
                      {"message", ""},
                      {"error_file", nullptr},
                      {"memory_kill", nullptr},
                      {"stderr", json::array()}};
  const json worker_1{
      {"rank", 1},
      {"local_rank", 1},
      {"pid", 4001},
      {"outcome", "failed"},
      {"end",
       {{"time", 1700000000.5},
        {"exit_code", 3},
        {"signal", nullptr},
        {"core_dumped", false},
        {"stop_signal", nullptr}}},
      {"message", "ValueError: 3"},
      {"error_file",
       {{"path", "/logs/e.json"}, {"message", "ValueError: 3"}, {"call_stack", "stack"}}},
      {"memory_kill", nullptr},
      {"stderr", {"CUDA out of memory"}}};
  CHECK(got["workers"] == json::array({worker_1, worker_0}));
  CHECK(got["hints"].size() == 1);
  json rest = got;
  rest.erase("workers");
  rest.erase("hints");
  CHECK(rest ==
        json{{"version", 1},
             {"result", "failed"},
             {"exit_code", 3},
             {"origin", "worker"},
             {"reason", "rank 1 (local rank 1, pid 4001) on node7 exited with 3: ValueError: 3"},
             {"root_cause", 1},
             {"hang", nullptr},
             {"program", "train.py"},
             {"run_id", "job7"},
             {"host", "node7"},
             {"pid", 3999},
             {"started", 1700000000.0},
             {"seconds", 1.5},
             {"restarts", 2},
             {"max_restarts", 3}});
}

TEST_CASE("success has no reason and no root cause", "[agent][report_json]") {
  JobReport report;
  report.workers = {ended_worker(0, ExitStatus::exited(0))};
  const json got = parsed(report);
  CHECK(got["result"] == "succeeded");
  CHECK(got["origin"] == "worker");
  CHECK(got["exit_code"] == 0);
  CHECK(got["reason"].get<std::string>().empty());
  CHECK(got["root_cause"].is_null());
  CHECK(got["workers"][0]["outcome"] == "succeeded");
}

TEST_CASE("what comes from rankrun itself says so", "[agent][report_json]") {
  JobReport report = failed_job({failed_worker(1, 3, {})});
  report.ending.error = base::Error{{}, "port 1: taken", ""};
  CHECK(parsed(report)["result"] == "error");
  CHECK(parsed(report)["origin"] == "launcher");
  CHECK(parsed(report)["reason"] == "port 1: taken");
  CHECK(parsed(report)["root_cause"] == 1);  // still said: it came first
  report.ending.stop_signal = SIGINT;
  CHECK(parsed(report)["result"] == "stopped");
  CHECK(parsed(report)["origin"] == "launcher");
}

TEST_CASE("a hang is told with its ranks, as rankrun's own finding", "[agent][report_json]") {
  JobReport report = failed_job({failed_worker(1, 3, {})});
  report.ending.failure.reset();
  report.ending.hang = Hang{{0, 1}, std::chrono::milliseconds(2500)};
  report.first_rank = 4;
  CHECK(parsed(report)["result"] == "failed");
  CHECK(parsed(report)["origin"] == "launcher");
  CHECK(parsed(report)["root_cause"].is_null());
  CHECK(parsed(report)["hang"] == json{{"ranks", {4, 5}}, {"seconds", 2.5}});
}

TEST_CASE("a worker without an end and a broken error file are told", "[agent][report_json]") {
  JobReport report = failed_job({failed_worker(1, 3, {})});
  report.workers[0].error_file = ErrorFile{"/e", {}, "it is empty"};
  report.workers.emplace_back();
  const json got = parsed(report);
  CHECK(got["workers"][0]["error_file"] == json{{"path", "/e"}, {"invalid", "it is empty"}});
  CHECK(got["workers"][1]["outcome"] == "not_ended");
  CHECK(got["workers"][1]["end"].is_null());
}

TEST_CASE("hostile text becomes plain ASCII", "[agent][report_json]") {
  JobReport report = failed_job({failed_worker(1, 3, {std::string("\x1b\0\xff\xc2\x9b", 5)})});
  report.job.program = "\xff";
  const std::string text = format_json(report);
  CHECK(std::all_of(
      text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c < '\x7f'); }));
  CHECK(json::parse(text)["program"] == "\xef\xbf\xbd");
}

}  // namespace
}  // namespace rankrun::agent
