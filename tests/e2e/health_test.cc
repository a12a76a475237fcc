// SPDX-License-Identifier: Apache-2.0
// TORCHELASTIC_HEALTH_CHECK_PORT: probes learn how a job is.
#include "tests/support/http_client.h"
#include "tests/support/rankrun_case.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <fstream>
#include <regex>

namespace rankrun::tests {

using Catch::Contains;
using Json = nlohmann::json;

namespace {

constexpr auto kVariable = "TORCHELASTIC_HEALTH_CHECK_PORT";

// The port in the line that tells it.
std::uint16_t told_port(RankrunCase& rankrun) {
  rankrun.wait_for_error_text("/healthz\n");
  std::smatch found;
  const std::string text = rankrun.error_text();
  REQUIRE(std::regex_search(text, found, std::regex(R"(health check on http://.*:(\d+)/healthz)")));
  const auto port = static_cast<std::uint16_t>(std::stoi(found[1]));
  rankrun.claim_port(port);
  return port;
}

Json health(std::uint16_t port) {
  HttpClient client("127.0.0.1", port);
  client.send("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string response = client.rest();
  INFO(response);
  REQUIRE_THAT(response, Catch::StartsWith("HTTP/1.1 200 OK\r\n"));
  return Json::parse(response.substr(response.find("\r\n\r\n")));
}

int threads_of(const RankrunCase& rankrun) {
  std::ifstream status("/proc/" + std::to_string(rankrun.pid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return 0;
}

}  // namespace

TEST_CASE("a probe is answered from start to stop", "[e2e][health]") {
  RankrunCase rankrun;
  rankrun.set(kVariable, "0");
  rankrun.set("LOGLEVEL", "INFO");
  rankrun.write_worker(R"(
attempt="$TORCHELASTIC_RESTART_COUNT"
if [ "$RANK" = 0 ]; then
  [ "$attempt" = 1 ] && exit 0
  until [ -e ready.0 ]; do sleep 0.02; done
  exit 3
fi
trap 'until [ -e go ]; do sleep 0.02; done; exit 0' TERM
touch "ready.$attempt"
while :; do sleep 0.02; done)");
  rankrun.start(
      {"--nproc-per-node=2", "--max-restarts=1", "--rdzv-id=job7", "--no-python", "./worker"});
  const std::uint16_t port = told_port(rankrun);
  rankrun.wait_until("stopping", [&] { return health(port)["phase"] == "stopping"; });
  CHECK(health(port)["attempt"] == 0);
  CHECK(health(port)["workers_live"] == 1);
  rankrun.write("go", "");
  rankrun.wait_for_file("ready.1");
  rankrun.wait_until("one worker left", [&] { return health(port)["workers_live"] == 1; });
  CHECK(health(port) == Json{{"status", "ok"},
                             {"phase", "running"},
                             {"attempt", 1},
                             {"run_id", "job7"},
                             {"workers", 2},
                             {"workers_live", 1}});
  rankrun.signal(SIGTERM);
  CHECK_THAT(rankrun.wait(), ExitsWith(128 + SIGTERM));
}

TEST_CASE("a port that is taken, or none, costs one line and not the job", "[e2e][health]") {
  RankrunCase first;
  first.set(kVariable, "127.0.0.1:0");
  first.set("LOGLEVEL", "INFO");
  first.write_worker("until [ -e go ]; do sleep 0.02; done");
  first.start({"--no-python", "./worker"});
  const std::uint16_t port = told_port(first);
  for (const std::string& value :
       {"127.0.0.1:" + std::to_string(port), std::string("web"), std::string("example.org:80")}) {
    RankrunCase second;
    second.set(kVariable, value);
    second.write_worker("touch started");
    const RunResult result = second.run({"--no-python", "./worker"});
    CHECK_THAT(result, ExitsWith(0));
    CHECK(second.exists("started"));
    CHECK(lines_of(result.err).size() == 1);
    CHECK_THAT(result.err, Contains("no health check"));
  }
  CHECK(health(port)["status"] == "ok");
  first.write("go", "");
  CHECK_THAT(first.wait(), ExitsWith(0));
}

TEST_CASE("a job that nobody asks for its health has no thread for it", "[e2e][health]") {
  const bool asked = GENERATE(false, true);
  RankrunCase rankrun;
  if (asked) rankrun.set(kVariable, "127.0.0.1:0");
  rankrun.write_worker("touch started; until [ -e go ]; do sleep 0.02; done");
  rankrun.start({"--no-python", "./worker"});
  rankrun.wait_for_file("started");
  CHECK(threads_of(rankrun) == (asked ? 3 : 2));  // of the agent, the store and health
  rankrun.write("go", "");
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
}

}  // namespace rankrun::tests
