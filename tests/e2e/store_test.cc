// SPDX-License-Identifier: Apache-2.0
// The workers' store as others see it: where it listens, and that strangers do it no harm.
#include "tests/store/client.h"
#include "tests/support/rankrun_case.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <random>
#include <system_error>

namespace rankrun::tests {

using Catch::Contains;
using store::test::Client;

namespace {

// Starts one worker that tells MASTER_ADDR and waits for the file "go"; returns its MASTER_PORT.
std::uint16_t start_waiting(RankrunCase& rankrun, std::vector<std::string> options) {
  rankrun.write_worker(
      "echo \"$MASTER_ADDR\" >address; touch ready; until [ -e go ]; do sleep 0.02; done");
  options.insert(options.end(), {"--no-python", "./worker"});
  rankrun.start(options);
  rankrun.wait_for_file("ready");
  return rankrun.worker_ports().at(0);
}

void let_go(RankrunCase& rankrun) {
  rankrun.write("go", "");
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
}

base::UniqueFd bind_any(std::uint16_t& port) {
  base::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  REQUIRE(::bind(fd.get(), generic, size) == 0);
  REQUIRE(::getsockname(fd.get(), generic, &size) == 0);
  port = ntohs(address.sin_port);
  return fd;
}

// Says something and leaves; the server may have closed before.
void say(std::uint16_t port, std::string_view bytes) {
  Client stranger(port);
  try {
    stranger.send(bytes);
  } catch (const std::system_error& closed) {
    INFO(closed.what());
    CHECK(
        (closed.code() == std::errc::broken_pipe || closed.code() == std::errc::connection_reset));
  }
}

}  // namespace

TEST_CASE("the store listens on loopback alone while workers run", "[e2e][store]") {
  RankrunCase rankrun;
  const std::uint16_t port = start_waiting(rankrun, {});
  CHECK_NOTHROW(Client(port).greet());
  CHECK_THROWS_AS(Client(port, "127.0.0.2"), std::system_error);
  let_go(rankrun);
  CHECK(rankrun.read("address") == "127.0.0.1\n");
}

TEST_CASE("the store is bound to the address given, and only to it", "[e2e][store]") {
  RankrunCase rankrun;
  const std::string option =
      GENERATE("--master-addr=127.0.0.2", "--local-addr=127.0.0.2", "--local_addr=127.0.0.2");
  const std::uint16_t port = start_waiting(rankrun, {option});
  CHECK_NOTHROW(Client(port, "127.0.0.2").greet());
  CHECK_THROWS_AS(Client(port), std::system_error);
  let_go(rankrun);
  CHECK(rankrun.read("address") == "127.0.0.2\n");
}

TEST_CASE("of a name the address is bound and the text is exported", "[e2e][store]") {
  RankrunCase rankrun;
  const std::uint16_t port = start_waiting(rankrun, {"--master-addr=localhost"});
  CHECK_NOTHROW(Client(port).greet());
  let_go(rankrun);
  CHECK(rankrun.read("address") == "localhost\n");
}

TEST_CASE("the store takes the port given, in every attempt", "[e2e][store]") {
  RankrunCase rankrun;
  std::uint16_t port = 0;
  bind_any(port).reset();
  rankrun.write_worker(R"([ "$TORCHELASTIC_RESTART_COUNT" = 1 ])");
  const std::string where = GENERATE("--master-port=", "--rdzv-endpoint=127.0.0.1:");
  CHECK_THAT(
      rankrun.run({where + std::to_string(port), "--max-restarts=1", "--no-python", "./worker"}),
      ExitsWith(0));
  CHECK(rankrun.worker_ports() == std::vector{port, port});
}

TEST_CASE("a port in use is refused before anything starts", "[e2e][store]") {
  RankrunCase rankrun;
  std::uint16_t port = 0;
  const base::UniqueFd listener = bind_any(port);
  REQUIRE(::listen(listener.get(), 1) == 0);
  rankrun.write_worker("");
  const RunResult result = rankrun.run(
      {"--nproc-per-node=2", "--master-port", std::to_string(port), "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(1));
  CHECK(lines_of(result.err).size() == 1);  // no warning about workers that never start
  CHECK_THAT(result.err, Contains("127.0.0.1:" + std::to_string(port)) && Contains("in use"));
  CHECK_THAT(result.err, Contains("choose another --master-port"));
  CHECK(rankrun.worker_ports().empty());
}

TEST_CASE("random bytes to the store harm nobody but their sender", "[e2e][store]") {
  RankrunCase rankrun;
  const std::uint16_t port = start_waiting(rankrun, {});
  Client worker(port);
  worker.greet();

  std::mt19937 random(20240229);
  for (int stranger = 0; stranger < 200; ++stranger) {
    std::string bytes(std::uniform_int_distribution<std::size_t>(1, 2000)(random), '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random());
    }
    say(port, bytes);
  }
  say(port, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  say(port, std::string(1 << 20, '\xff'));
  Client silent(port);
  Client half_said(port);
  half_said.send(std::string("\0\xce", 2));

  worker.round_trip();  // the old connection lives, and a new one is served
  CHECK_NOTHROW(Client(port).greet());
  CHECK(half_said.is_quiet());
  let_go(rankrun);
}

TEST_CASE("a stranger that breaks the protocol is disconnected", "[e2e][store]") {
  RankrunCase rankrun;
  const std::uint16_t port = start_waiting(rankrun, {});
  Client stranger(port);
  stranger.greet();
  stranger.send("\xff");  // no such request
  CHECK(stranger.receive_until_closed().empty());
  let_go(rankrun);
}

}  // namespace rankrun::tests
