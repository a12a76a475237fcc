// SPDX-License-Identifier: Apache-2.0
// --events and --event-log-handler (torchrun.md 4.5).
#include "tests/support/rankrun_case.h"

#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace rankrun::tests {

using Catch::Contains;
using nlohmann::json;

namespace {

std::vector<json> events_of(const std::string& text) {
  std::vector<json> events;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with('{')) events.push_back(json::parse(line));
  }
  return events;
}

std::vector<std::string> values(const std::vector<json>& events, const std::string& name) {
  std::vector<std::string> found;
  found.reserve(events.size());
  for (const json& event : events) {
    found.push_back(event.at(name));
  }
  return found;
}

}  // namespace

TEST_CASE("a job that restarts and ends well is told step by step", "[e2e][events]") {
  RankrunCase rankrun;
  rankrun.write_worker(R"([ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exit 5)");
  CHECK_THAT(rankrun.run({"--max-restarts=1", "--events=events", "--no-python", "./worker"}),
             ExitsWith(0));
  const auto events = events_of(rankrun.read("events"));
  CHECK(values(events, "event") == std::vector<std::string>{"job_start",
                                                            "attempt_start",
                                                            "worker_start",
                                                            "worker_exit",
                                                            "restart",
                                                            "attempt_start",
                                                            "worker_start",
                                                            "worker_exit",
                                                            "result"});
  REQUIRE(events.size() == 9);
  CHECK(std::is_sorted(events.begin(), events.end(), [](const json& a, const json& b) {
    return a["time"].get<double>() < b["time"].get<double>();
  }));
  CHECK(events[3]["exit_code"] == 5);
  CHECK(events[3]["attempt"] == 0);
  CHECK(events[7]["attempt"] == 1);
  CHECK(events[8]["result"] == "succeeded");
}

TEST_CASE("a stop is told with its signals", "[e2e][events]") {
  RankrunCase rankrun;
  rankrun.write_worker("touch ready; exec sleep 1000");
  rankrun.start({"--events=-", "--no-python", "./worker"});
  rankrun.wait_for_file("ready");
  rankrun.signal(SIGTERM);
  const RunResult result = rankrun.wait();
  CHECK_THAT(result, ExitsWith(128 + SIGTERM));
  const auto events = events_of(result.out);
  CHECK(values(events, "event") == std::vector<std::string>{"job_start",
                                                            "attempt_start",
                                                            "worker_start",
                                                            "stop_request",
                                                            "stop",
                                                            "worker_exit",
                                                            "result"});
  REQUIRE(events.size() == 7);
  CHECK(events[4]["signal"] == "SIGTERM");
  CHECK(events[5]["outcome"] == "stopped");
  CHECK(events[6]["exit_code"] == 128 + SIGTERM);
}

TEST_CASE("a job that cannot start has a result, too", "[e2e][events]") {
  RankrunCase rankrun;
  CHECK_THAT(rankrun.run({"--events=events", "--no-python", "./no_such_program"}), ExitsWith(127));
  const auto events = events_of(rankrun.read("events"));
  CHECK(values(events, "event") == std::vector<std::string>{"job_start", "result"});
  CHECK_THAT(events.back()["reason"].get<std::string>(), Contains("no_such_program"));
}

TEST_CASE("the console gets torchrun's events when asked", "[e2e][events]") {
  RankrunCase rankrun;
  const RunResult result = rankrun.run({"--event-log-handler=console", "--no-python", "true"});
  CHECK_THAT(result, ExitsWith(0));
  const auto events = events_of(result.err);
  CHECK(values(events, "name") ==
        std::vector<std::string>{"torchelastic.worker.status.RENDEZVOUS",
                                 "torchelastic.worker.status.ASSIGN_WORKER_RANKS",
                                 "torchelastic.worker.status.START",
                                 "torchelastic.worker.status.SUCCEEDED",
                                 "torchelastic.worker.status.SUCCEEDED"});
  CHECK(values(events, "source") ==
        std::vector<std::string>{"AGENT", "AGENT", "WORKER", "WORKER", "AGENT"});
}

TEST_CASE("nobody who did not ask gets events", "[e2e][events]") {
  RankrunCase rankrun;
  const RunResult result = rankrun.run({"--event-log-handler=null", "--no-python", "true"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out.empty());
  CHECK(result.err.empty());
}

TEST_CASE("events that cannot be written cost one line, and the job goes on", "[e2e][events]") {
  RankrunCase rankrun;
  REQUIRE(::mkfifo((rankrun.folder() / "pipe").c_str(), 0600) == 0);
  const std::string path = GENERATE("no/folder/events", ".", "/dev/full", "pipe");
  const RunResult result = rankrun.run({"--events=" + path, "--no-python", "true"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(lines_of(result.err).size() == 1);
  CHECK_THAT(result.err, Contains("'" + path + "'"));
}

TEST_CASE("a closed stdout takes no events and harms no job", "[e2e][events]") {
  RankrunCase rankrun;
  rankrun.before_exec([] { ::close(STDOUT_FILENO); });
  CHECK_THAT(rankrun.run({"--events=-", "--no-python", "true"}), ExitsWith(0));
}

}  // namespace rankrun::tests
