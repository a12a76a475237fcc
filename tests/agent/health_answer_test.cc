// SPDX-License-Identifier: Apache-2.0
#include "agent/health_answer.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace rankrun::agent {
namespace {

using Json = nlohmann::json;

TEST_CASE("the health of an agent is one line of JSON", "[agent][health]") {
  const HealthAnswer answer = healthy({Phase::running, "job\n7", 2, 8, 5});
  CHECK(answer.status == 200);
  CHECK(std::count(answer.body.begin(), answer.body.end(), '\n') == 1);
  CHECK(Json::parse(answer.body) == Json{{"status", "ok"},
                                         {"phase", "running"},
                                         {"attempt", 2},
                                         {"run_id", "job\n7"},
                                         {"workers", 8},
                                         {"workers_live", 5}});
}

TEST_CASE("every phase has a name of its own", "[agent][health]") {
  std::set<std::string> names;
  const auto phases = {Phase::joining,
                       Phase::running,
                       Phase::stopping,
                       Phase::reporting,
                       Phase::leaving,
                       Phase::ended};
  for (const Phase phase : phases) {
    names.insert(Json::parse(healthy({phase, "", 0, 1, 1}).body)["phase"]);
  }
  CHECK(names.size() == phases.size());
}

TEST_CASE("a run id that is no text still gives JSON", "[agent][health]") {
  CHECK(Json::accept(healthy({Phase::joining, "\xff", 0, 1, 0}).body));
  CHECK(Json::accept(stuck("\xff", std::chrono::seconds(5)).body));
}

TEST_CASE("a stuck agent is no success", "[agent][health]") {
  const HealthAnswer answer = stuck("job7", std::chrono::milliseconds(5500));
  CHECK(answer.status == 503);
  CHECK(Json::parse(answer.body) ==
        Json{{"status", "stuck"}, {"run_id", "job7"}, {"silent_seconds", 5.5}});
}

TEST_CASE("only GET and HEAD of the one path are answered", "[agent][health]") {
  CHECK_FALSE(refuse_request("GET", "/healthz"));
  CHECK_FALSE(refuse_request("HEAD", "/healthz"));
  CHECK_FALSE(refuse_request("GET", "/healthz?verbose"));
  for (const char* target : {"/", "", "*", "/healthz/", "/healthzz", "/HEALTHZ", "//healthz"}) {
    INFO(target);
    REQUIRE(refuse_request("GET", target));
    CHECK(refuse_request("GET", target)->status == 404);
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", ""}) {
    INFO(method);
    REQUIRE(refuse_request(method, "/healthz"));
    CHECK(refuse_request(method, "/healthz")->status == 405);
    CHECK(refuse_request(method, "/healthz")->allow == "GET, HEAD");
  }
}

}  // namespace
}  // namespace rankrun::agent
