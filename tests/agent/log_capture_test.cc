// SPDX-License-Identifier: Apache-2.0
#include "agent/log_capture.h"

#include "store/base/async.h"
#include "tests/support/pipe.h"
#include "tests/support/run_loop.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <string_view>
#include <thread>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;

void write_text(int fd, std::string_view text) {
  REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

struct Setup {
  asio::io_context loop{1};
  tests::Pipe pipe;
  Console console{loop.get_executor(), pipe.write_end.get()};
  std::unique_ptr<LogCapture> capture = std::move(*LogCapture::open(loop.get_executor(), console));

  asio::awaitable<void> pump_to_end() {
    co_await capture->pump();
    capture->drain();
    co_await console.close(base::Clock::now() + std::chrono::seconds(20));
  }

  // Pumps until an unfinished line has been shown for want of more.
  asio::awaitable<void> pump_until_shown(std::string& shown) {
    base::TaskGroup tasks(loop.get_executor(), [](std::exception_ptr) {});
    tasks.spawn(capture->pump());
    asio::steady_timer timer(loop);
    while (shown.empty()) {
      shown = pipe.read_available();
      timer.expires_after(std::chrono::milliseconds(1));
      co_await timer.async_wait(base::kUseTuple);
    }
    tasks.stop();
    co_await tasks.join();
    co_await console.close(base::Clock::now());
  }
};

TEST_CASE("a worker's stderr is passed on and its end is remembered", "[agent][log]") {
  Setup setup;
  write_text(setup.capture->write_fd(), "one\ntwo\nthr");
  setup.capture->close_write_end();
  tests::run_loop(setup.loop, setup.pump_to_end());
  CHECK(setup.pipe.read_available() == "one\ntwo\nthr");
  CHECK(setup.capture->last_lines() == std::vector<std::string>{"one", "two", "thr"});
}

TEST_CASE("an unfinished line is shown after a while", "[agent][log]") {
  Setup setup;
  write_text(setup.capture->write_fd(), "password: ");
  std::string shown;
  tests::run_loop(setup.loop, setup.pump_until_shown(shown));
  CHECK(shown == "password: ");
}

TEST_CASE("draining ends although somebody goes on writing", "[agent][log]") {
  Setup setup;
  std::atomic<bool> stop = false;
  std::jthread writer([&] {
    ::fcntl(setup.capture->write_fd(), F_SETFL, O_NONBLOCK);
    while (!stop) {
      [[maybe_unused]] const auto written = ::write(setup.capture->write_fd(), "more\n", 5);
    }
  });
  setup.capture->drain();
  stop = true;
  writer.join();
  tests::run_loop(setup.loop, setup.console.close(base::Clock::now()));
}

TEST_CASE("draining does not wait for writers that are left", "[agent][log]") {
  Setup setup;
  write_text(setup.capture->write_fd(), "last words");
  setup.capture->drain();
  CHECK(setup.capture->last_lines() == std::vector<std::string>{"last words"});
  CHECK(setup.pipe.read_available() == "last words");
  tests::run_loop(setup.loop, setup.console.close(base::Clock::now()));
}

}  // namespace
}  // namespace rankrun::agent
