// SPDX-License-Identifier: Apache-2.0
#include "agent/health.h"

#include "tests/support/http_client.h"
#include "tests/support/silent_log.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include <list>
#include <string>
#include <thread>

namespace rankrun::agent {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using tests::HttpClient;
namespace asio = boost::asio;

const std::string get_request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

HealthOptions on_loopback() {
  HealthOptions options;
  options.endpoint = {"127.0.0.1", 0};
  options.run_id = "job7";
  return options;
}

// A server and the loop of its agent, which runs on a thread when a test wants it to.
class Setup {
 public:
  explicit Setup(HealthOptions options = on_loopback()) {
    auto started = HealthServer::start(
        std::move(options),
        loop_.get_executor(),
        [] {
          return HealthFacts{Phase::stopping, "job7", 3, 2, 1};
        },
        tests::silent_log());
    if (!started) FAIL(started.error().message());
    server_ = std::move(*started);
  }
  ~Setup() {
    loop_.stop();
    if (agent_.joinable()) agent_.join();
  }
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  void run_agent() {
    agent_ = std::jthread([this] { loop_.run(); });
  }
  HttpClient connect(const std::string& address = "127.0.0.1") const {
    return HttpClient(address, server_->endpoint().port);
  }
  std::string ask(const std::string& request) const {
    HttpClient client = connect();
    client.send(request);
    return client.response();
  }

 private:
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> stays_{loop_.get_executor()};
  std::unique_ptr<HealthServer> server_;
  std::jthread agent_;
};

TEST_CASE("a probe learns how the agent is", "[agent][health]") {
  Setup setup;
  setup.run_agent();
  const std::string response = setup.ask(get_request);
  CHECK_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
  CHECK_THAT(response, Contains("\r\nContent-Type: application/json\r\n"));
  CHECK_THAT(response,
             Catch::EndsWith("\r\n\r\n{\"status\":\"ok\",\"phase\":\"stopping\",\"attempt\":3,"
                             "\"run_id\":\"job7\",\"workers\":2,\"workers_live\":1}\n"));
}

TEST_CASE("a connection serves many requests, also when they come at once", "[agent][health]") {
  Setup setup;
  setup.run_agent();
  HttpClient client = setup.connect();
  client.send(get_request + get_request);
  for (int i = 0; i < 3; ++i) {
    CHECK_THAT(client.response(), StartsWith("HTTP/1.1 200 OK\r\n"));
    if (i == 1) client.send(get_request);
  }
}

TEST_CASE("HEAD gets the header of GET alone", "[agent][health]") {
  Setup setup;
  setup.run_agent();
  const std::string got = setup.ask(get_request);
  HttpClient client = setup.connect();
  client.send("HEAD /healthz HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string head = client.rest();
  CHECK_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n") && Catch::EndsWith("\r\n\r\n"));
  const auto length = [](const std::string& response) {
    const auto from = response.find("Content-Length:");
    return response.substr(from, response.find('\r', from) - from);
  };
  CHECK(length(head) == length(got));
}

TEST_CASE("other paths and methods are refused", "[agent][health]") {
  Setup setup;
  setup.run_agent();
  CHECK_THAT(setup.ask("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  const std::string response = setup.ask("DELETE /healthz HTTP/1.1\r\n\r\n");
  CHECK_THAT(response, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  CHECK_THAT(response, Contains("\r\nAllow: GET, HEAD\r\n"));
}

TEST_CASE("an old client gets its answer and the end of the connection", "[agent][health]") {
  Setup setup;
  setup.run_agent();
  HttpClient client = setup.connect();
  client.send("GET /healthz HTTP/1.0\r\n\r\n");
  CHECK_THAT(client.rest(), StartsWith("HTTP/1.0 200 OK\r\n"));
}

TEST_CASE("the body of a request is not read", "[agent][health]") {
  Setup setup;
  setup.run_agent();
  HttpClient client = setup.connect();
  client.send("POST /healthz HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n");
  const std::string response = client.rest();
  CHECK_THAT(response, StartsWith("HTTP/1.1 405 ") && Contains("\r\nConnection: close\r\n"));
}

TEST_CASE("an agent that does not answer is stuck until it does", "[agent][health]") {
  HealthOptions options = on_loopback();
  options.answer_limit = std::chrono::milliseconds(20);
  Setup setup(options);
  CHECK_THAT(setup.ask(get_request), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  CHECK_THAT(setup.ask(get_request), Contains("{\"status\":\"stuck\",\"run_id\":\"job7\","));
  setup.run_agent();
  std::string response;
  const base::TimePoint deadline = base::Clock::now() + std::chrono::seconds(20);
  while (response.find(" 200 ") == std::string::npos && base::Clock::now() < deadline) {
    response = setup.ask(get_request);
  }
  CHECK_THAT(response, Contains("\"status\":\"ok\""));
}

TEST_CASE("a server ends while its agent does not answer", "[agent][health]") {
  Setup setup;
  HttpClient client = setup.connect();
  client.send(get_request);
  SUCCEED("the destructor returns; the question finds nobody");
}

TEST_CASE("what is no HTTP, or too long, ends the connection", "[agent][health]") {
  Setup setup;
  setup.run_agent();
  const std::string request =
      GENERATE(std::string("\x16\x03\x01 hello\r\n\r\n"),
               "GET /healthz HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n");
  HttpClient client = setup.connect();
  client.send(request);
  CHECK(client.rest().empty());
  CHECK_THAT(setup.ask(get_request), Contains(" 200 "));
}

TEST_CASE("a request that comes too slowly ends its connection", "[agent][health]") {
  HealthOptions options = on_loopback();
  options.transfer_limit = std::chrono::milliseconds(20);
  Setup setup(options);
  HttpClient client = setup.connect();
  client.send("GET /healthz");
  CHECK(client.rest().empty());
}

TEST_CASE("when there are too many connections the one that is idle longest goes",
          "[agent][health]") {
  HealthOptions options = on_loopback();
  options.max_connections = 3;
  Setup setup(options);
  setup.run_agent();
  std::list<HttpClient> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(setup.connect());
    clients.back().send(get_request);  // so that it is known to be there
    CHECK_THAT(clients.back().response(), Contains(" 200 "));
  }
  CHECK(clients.front().rest().empty());
  clients.pop_front();
  for (HttpClient& client : clients) {
    client.send(get_request);
    CHECK_THAT(client.response(), Contains(" 200 "));
  }
}

TEST_CASE("a busy connection is not closed for another one", "[agent][health]") {
  HealthOptions options = on_loopback();
  options.max_connections = 1;
  Setup setup(options);
  HttpClient busy = setup.connect();
  busy.send(get_request);
  HttpClient refused = setup.connect();
  CHECK(refused.rest().empty());
  setup.run_agent();
  CHECK_THAT(busy.response(), Contains(" 200 "));
}

TEST_CASE("without an address both IP versions are served", "[agent][health]") {
  HealthOptions options = on_loopback();
  options.endpoint.host.clear();
  Setup setup(options);
  setup.run_agent();
  for (const std::string address : {"127.0.0.1", "::1"}) {
    HttpClient client = setup.connect(address);
    client.send(get_request);
    CHECK_THAT(client.response(), Contains(" 200 "));
  }
}

TEST_CASE("a server that cannot listen says what to do", "[agent][health]") {
  asio::io_context loop(1);
  const auto start = [&loop](const base::Endpoint& endpoint) {
    HealthOptions options;
    options.endpoint = endpoint;
    return HealthServer::start(
        options, loop.get_executor(), [] { return HealthFacts{}; }, tests::silent_log());
  };
  const auto first = start({"127.0.0.1", 0});
  REQUIRE(first);
  const auto second = start((*first)->endpoint());
  REQUIRE_FALSE(second);
  CHECK(second.error().code == std::errc::address_in_use);
  CHECK_THAT(second.error().message(), Contains("take another port"));
  const auto named = start({"localhost", 0});
  REQUIRE_FALSE(named);
  CHECK_THAT(named.error().message(), Contains("localhost") && Contains("not a name"));
}

}  // namespace
}  // namespace rankrun::agent
