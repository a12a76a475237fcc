// SPDX-License-Identifier: Apache-2.0
#include "agent/events.h"

#include "tests/support/job_reports.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <csignal>

namespace rankrun::agent {
namespace {

using nlohmann::json;
using tests::ended_worker;
using tests::failed_worker;

// The second node of a job of two with two workers each, after one restart.
rendezvous::View some_view() {
  const std::vector<rendezvous::Member> members(2, rendezvous::Member{"trainer", 2});
  rendezvous::View view;
  view.ranks = rendezvous::assign_ranks(members).back();
  view.master_addr = "10.0.0.1";
  view.master_port = 29500;
  view.restart_count = 1;
  return view;
}

struct Lines {
  JobFacts job = tests::some_job();
  rendezvous::View view = some_view();
  EventContext context{job, &view, job.started + std::chrono::milliseconds(2500)};

  json own(const StateChange& change) const { return json::parse(event_line(context, change)); }
  json torchrun(const StateChange& change) const {
    return json::parse(torchrun_event_lines(context, change));
  }
};

change::WorkerEnded ended(int local_rank, ExitStatus status, std::optional<int> stop_signal = {}) {
  return {ended_worker(local_rank, status, stop_signal)};
}

TEST_CASE("an event is one line with its name, time and attempt", "[agent][events]") {
  const Lines lines;
  const std::string line = event_line(lines.context, change::StopRequested{SIGTERM});
  CHECK(line == R"({"event":"stop_request","time":102.5,"attempt":1,"signal":"SIGTERM"})"
                "\n");
}

TEST_CASE("the first event ties the clock to the time of day", "[agent][events]") {
  const JobFacts job = tests::some_job();
  const EventContext context{job, nullptr, job.started};
  CHECK(json::parse(event_line(context, change::JobStarted{})) == json{{"event", "job_start"},
                                                                       {"time", 100.0},
                                                                       {"unix_time", 1700000000.0},
                                                                       {"run_id", "job7"},
                                                                       {"host", "node7"},
                                                                       {"pid", 3999},
                                                                       {"program", "train.py"},
                                                                       {"local_world_size", 2},
                                                                       {"max_restarts", 3}});
}

TEST_CASE("every change has an event of our own", "[agent][events]") {
  const Lines lines;
  const json common{{"time", 102.5}, {"attempt", 1}};
  const auto check = [&](const StateChange& change, json expected) {
    expected.update(common);
    CHECK(lines.own(change) == expected);
  };
  check(change::AttemptStarted{lines.view, std::chrono::milliseconds(20)},
        {{"event", "attempt_start"},
         {"joining_seconds", 0.02},
         {"group_rank", 1},
         {"world_size", 4},
         {"master_addr", "10.0.0.1"},
         {"master_port", 29500}});
  check(change::WorkerStarted{1, 77},
        {{"event", "worker_start"}, {"rank", 3}, {"local_rank", 1}, {"pid", 77}});
  json exit{{"event", "worker_exit"}, {"rank", 3}, {"local_rank", 1}, {"pid", 4001}};
  exit.update(
      {{"outcome", "failed"}, {"exit_code", 3}, {"signal", nullptr}, {"core_dumped", false}});
  check(ended(1, ExitStatus::exited(3)), exit);
  exit.update({{"outcome", "stopped"}, {"exit_code", nullptr}, {"signal", "SIGTERM"}});
  check(ended(1, ExitStatus::signaled(SIGTERM, false), SIGTERM), exit);
  exit.update({{"outcome", "failed"}, {"signal", "SIGSEGV"}, {"core_dumped", true}});
  check(ended(1, ExitStatus::signaled(SIGSEGV, true)), exit);
  check(change::WorkersStopped{SIGKILL}, {{"event", "stop"}, {"signal", "SIGKILL"}});
  check(change::HangFound{{{0, 1}, std::chrono::milliseconds(1500)}},
        {{"event", "hang"}, {"ranks", {2, 3}}, {"seconds", 1.5}});
  check(change::RestartDecided{std::chrono::milliseconds(500)},
        {{"event", "restart"}, {"delay_seconds", 0.5}});
  check(change::JobEnded{JobResult::failed, 3, "rank 1 exited with 3"},
        {{"event", "result"},
         {"result", "failed"},
         {"exit_code", 3},
         {"reason", "rank 1 exited with 3"},
         {"seconds", 2.5}});
}

TEST_CASE("hostile text in an event stays one ASCII line", "[agent][events]") {
  const Lines lines;
  const std::string line =
      event_line(lines.context, change::JobEnded{JobResult::failed, 1, "\x1b\n\xff"});
  CHECK(line.find_first_of("\x1b\xff") == std::string::npos);
  CHECK(line.find('\n') == line.size() - 1);
}

TEST_CASE("torchrun's event of a worker has its names and fields", "[agent][events]") {
  const Lines lines;
  json event = lines.torchrun(change::WorkerStarted{1, 77});
  const json details = json::parse(event["metadata"]["metadata"].get<std::string>());
  CHECK(details == json{{"group_world_size", 2},
                        {"entry_point", "train.py"},
                        {"local_rank", {1}},
                        {"role_rank", {3}},
                        {"role_world_size", {4}}});
  event["metadata"].erase("metadata");
  CHECK(event == json{{"name", "torchelastic.worker.status.START"},
                      {"source", "WORKER"},
                      {"timestamp", 1700000002500},
                      {"metadata",
                       {{"run_id", "job7"},
                        {"global_rank", 3},
                        {"group_rank", 1},
                        {"worker_id", "77"},
                        {"role", "trainer"},
                        {"hostname", "node7"},
                        {"state", "START"},
                        {"total_run_time", 2},
                        {"rdzv_backend", "local"},
                        {"raw_error", nullptr},
                        {"agent_restarts", 1},
                        {"duration_ms", nullptr}}}});
}

TEST_CASE("torchrun's event of a worker's end names its state", "[agent][events]") {
  const Lines lines;
  const auto state = [&](const change::WorkerEnded& change) {
    return lines.torchrun(change)["metadata"]["state"];
  };
  CHECK(state(ended(1, ExitStatus::exited(0))) == "SUCCEEDED");
  CHECK(state(ended(1, ExitStatus::exited(1))) == "FAILED");
  CHECK(state(ended(1, ExitStatus::signaled(SIGTERM, false), SIGTERM)) == "TERMINATED");

  const json failed = lines.torchrun(change::WorkerEnded{failed_worker(1, 3, {"ValueError: 3"})});
  CHECK(failed["name"] == "torchelastic.worker.status.FAILED");
  CHECK(failed["metadata"]["raw_error"] == R"({"message":"ValueError: 3"})");
  const json details = json::parse(failed["metadata"]["metadata"].get<std::string>());
  CHECK(details["exit_code"] == json::array({3}));
  CHECK(details["worker_pid"] == json::array({4001}));
  CHECK(lines.torchrun(ended(1, ExitStatus::exited(3)))["metadata"]["raw_error"] ==
        R"({"message":"<NONE>"})");
}

TEST_CASE("torchrun's events of the agent are there", "[agent][events]") {
  const Lines lines;
  const std::string text = torchrun_event_lines(
      lines.context, change::AttemptStarted{lines.view, std::chrono::milliseconds(20)});
  const std::size_t middle = text.find('\n') + 1;
  const json joined = json::parse(text.substr(0, middle));
  CHECK(joined["name"] == "torchelastic.worker.status.RENDEZVOUS");
  CHECK(joined["source"] == "AGENT");
  CHECK(joined["metadata"]["duration_ms"] == 20.0);
  CHECK(joined["metadata"]["global_rank"].is_null());
  CHECK(json::parse(text.substr(middle))["metadata"]["state"] == "ASSIGN_WORKER_RANKS");
}

TEST_CASE("torchrun's agent succeeds unless the trouble is its own", "[agent][events]") {
  const Lines lines;
  const auto state = [&](JobResult result) {
    const json event = lines.torchrun(change::JobEnded{result, 1, "why"});
    return event["metadata"]["state"].get<std::string>() +
           (event["metadata"]["raw_error"].is_null() ? "" : " with a reason");
  };
  CHECK(state(JobResult::succeeded) == "SUCCEEDED");
  CHECK(state(JobResult::failed) == "SUCCEEDED");
  CHECK(state(JobResult::stopped) == "FAILED with a reason");
  CHECK(state(JobResult::error) == "FAILED with a reason");
}

TEST_CASE("where torchrun has no event there is no line", "[agent][events]") {
  const Lines lines;
  for (const StateChange& change : {StateChange(change::JobStarted{}),
                                    StateChange(change::StopRequested{SIGTERM}),
                                    StateChange(change::WorkersStopped{SIGTERM}),
                                    StateChange(change::RestartDecided{})}) {
    CHECK(torchrun_event_lines(lines.context, change).empty());
  }
}

}  // namespace
}  // namespace rankrun::agent
