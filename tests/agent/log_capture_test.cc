// SPDX-License-Identifier: Apache-2.0
#include "agent/log_capture.h"

#include "agent/pseudo_terminal.h"
#include "store/base/async.h"
#include "tests/support/pipe.h"
#include "tests/support/run_loop.h"
#include "tests/support/silent_log.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <fstream>
#include <iterator>
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
  ConsoleFeed feed{loop.get_executor(), pipe.write_end.get(), false};
  std::unique_ptr<LogCapture> capture = make_capture();

  std::unique_ptr<LogCapture> make_capture() {
    CaptureTargets targets;
    targets.has_memory = true;
    targets.console = &feed.open({});
    return std::make_unique<LogCapture>(
        loop.get_executor(), std::move(*CapturePipe::open()), std::move(targets));
  }

  asio::awaitable<void> pump_to_end() {
    co_await capture->pump();
    capture->finish();
    co_await feed.close(std::chrono::seconds(20));
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
    capture->finish();
    co_await feed.close(base::Duration::zero());
  }
};

TEST_CASE("a worker's stderr is passed on and its end is remembered", "[agent][log]") {
  Setup setup;
  write_text(setup.capture->worker_end(), "one\ntwo\nthr");
  setup.capture->close_worker_end();
  tests::run_loop(setup.loop, setup.pump_to_end());
  CHECK(setup.pipe.read_available() == "one\ntwo\nthr");
  CHECK(setup.capture->last_lines() == std::vector<std::string>{"one", "two", "thr"});
}

TEST_CASE("an unfinished line is shown after a while", "[agent][log]") {
  Setup setup;
  write_text(setup.capture->worker_end(), "password: ");
  std::string shown;
  tests::run_loop(setup.loop, setup.pump_until_shown(shown));
  CHECK(shown == "password: ");
}

TEST_CASE("draining ends although somebody goes on writing", "[agent][log]") {
  Setup setup;
  std::atomic<bool> stop = false;
  std::jthread writer([&] {
    ::fcntl(setup.capture->worker_end(), F_SETFL, O_NONBLOCK);
    while (!stop) {
      [[maybe_unused]] const auto written = ::write(setup.capture->worker_end(), "more\n", 5);
    }
  });
  setup.capture->drain();
  stop = true;
  writer.join();
  setup.capture->finish();
  tests::run_loop(setup.loop, setup.feed.close(base::Duration::zero()));
}

TEST_CASE("draining does not wait for writers that are left", "[agent][log]") {
  Setup setup;
  write_text(setup.capture->worker_end(), "last words");
  setup.capture->drain();
  CHECK(setup.capture->last_lines() == std::vector<std::string>{"last words"});
  CHECK(setup.pipe.read_available() == "last words");
  setup.capture->finish();
  tests::run_loop(setup.loop, setup.feed.close(base::Duration::zero()));
}

TEST_CASE("a stream goes to its file and its filtered lines as it is read", "[agent][log]") {
  asio::io_context loop(1);
  const tests::TempDir dir;
  const auto path = [&](const char* name) { return (dir.path() / name).string(); };
  const auto content = [&](const char* name) {
    std::ifstream file(path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CaptureTargets targets;
  targets.has_memory = true;
  targets.file = LogFile::create(path("log"), tests::silent_log());
  targets.filtered.emplace(std::vector<std::string>{"loss"},
                           LinePrefix(),
                           LogFile::create(path("filtered"), tests::silent_log()));
  LogCapture capture(loop.get_executor(), std::move(*CapturePipe::open()), std::move(targets));
  write_text(capture.worker_end(), "loss 1\nother\n");
  capture.drain();
  write_text(capture.worker_end(), "the last loss");
  capture.finish();
  CHECK(content("log") == "loss 1\nother\nthe last loss");
  CHECK(content("filtered") == "loss 1\nthe last loss\n");
  CHECK(capture.last_lines() == std::vector<std::string>{"loss 1", "other", "the last loss"});
}

TEST_CASE("a pseudo terminal of a dead worker is drained to its last byte", "[agent][log]") {
  asio::io_context loop(1);
  auto terminal = PseudoTerminal::open(-1);
  REQUIRE(terminal);
  CapturePipe pipe{std::move(terminal->read_end), std::move(terminal->worker_end)};
  CaptureTargets targets;
  targets.has_memory = true;
  LogCapture capture(loop.get_executor(), std::move(pipe), std::move(targets));
  const std::string text = std::string(10'000, 'x') + "\nend";
  write_text(capture.worker_end(), text);
  capture.close_worker_end();
  capture.drain();
  CHECK(capture.last_lines().back() == "end");
}

}  // namespace
}  // namespace rankrun::agent
