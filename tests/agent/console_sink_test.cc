// SPDX-License-Identifier: Apache-2.0
#include "agent/console_sink.h"

#include "store/base/log.h"
#include "tests/support/pipe.h"
#include "tests/support/run_loop.h"

#include <catch2/catch.hpp>

#include <memory>
#include <thread>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;

struct Setup {
  asio::io_context loop{1};
  tests::Pipe pipe;
  Console console{loop.get_executor(), pipe.write_end.get()};
  base::Logger log = base::make_logger(
      "rankrun", spdlog::level::warn, std::make_shared<ConsoleSink>(loop.get_executor(), console));

  asio::awaitable<void> log_between_writes() {
    console.write_line("one\n");
    log->warn("two");
    log->info("not shown");
    console.write_line("three\n");
    co_await console.close(base::Duration::zero());
  }
};

TEST_CASE("log lines keep their place among the workers' lines", "[agent][console]") {
  Setup setup;
  tests::run_loop(setup.loop, setup.log_between_writes());
  CHECK(setup.pipe.read_available() == "one\nrankrun: warning: two\nthree\n");
}

TEST_CASE("a line from another thread comes by way of the loop", "[agent][console]") {
  Setup setup;
  std::jthread([&setup] { setup.log->error("from elsewhere"); }).join();
  CHECK(setup.pipe.read_available().empty());
  setup.loop.run();
  CHECK(setup.pipe.read_available() == "rankrun: error: from elsewhere\n");
  setup.loop.restart();
  tests::run_loop(setup.loop, setup.console.close(base::Duration::zero()));
}

}  // namespace
}  // namespace rankrun::agent
