// SPDX-License-Identifier: Apache-2.0
#include "agent/console.h"

#include "agent/pseudo_terminal.h"
#include "store/base/async.h"
#include "store/base/unique_fd.h"
#include "tests/support/pipe.h"
#include "tests/support/run_loop.h"

#include <boost/asio/detached.hpp>
#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;

constexpr base::Duration kPatience = std::chrono::seconds(20);
constexpr SourceId kWorker = 0;

TEST_CASE("text reaches the console at once and in order", "[agent][console]") {
  asio::io_context loop(1);
  tests::Pipe pipe;
  Console console(loop.get_executor(), pipe.write_end.get());
  console.write_line("one\n");
  console.write_line("two\n");
  CHECK(pipe.read_available() == "one\ntwo\n");
  tests::run_loop(loop, console.close(kPatience));
}

TEST_CASE("a console that nobody reads fills up without blocking", "[agent][console]") {
  asio::io_context loop(1);
  tests::Pipe pipe;
  Console console(loop.get_executor(), pipe.write_end.get());
  CHECK_FALSE(console.full());
  console.write_line(std::string(2 * Console::kMostWaiting, 'x'));
  CHECK(console.full());
  CHECK_FALSE(console.is_broken());
  tests::run_loop(loop, console.close(base::Duration::zero()));  // gives up at its deadline
}

// Reads the pipe until all that was written has come through.
asio::awaitable<void> read_all(tests::Pipe& pipe, std::size_t expected, std::string& text) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (text.size() < expected) {
    text += pipe.read_available();
    timer.expires_after(std::chrono::microseconds(100));
    co_await timer.async_wait(base::kUseTuple);
  }
}

asio::awaitable<void> write_twice(Console& console, std::string first, std::string second) {
  console.write_line(first);
  co_await console.writable();
  console.write_line(second);
  co_await console.close(kPatience);
}

TEST_CASE("a slow reader gets everything in order, and its descriptor stays blocking",
          "[agent][console]") {
  asio::io_context loop(1);
  tests::Pipe pipe;
  Console console(loop.get_executor(), pipe.write_end.get());
  const std::string first(Console::kMostWaiting, 'a');
  std::string text;
  asio::co_spawn(loop, read_all(pipe, first.size() + 3, text), asio::detached);
  tests::run_loop(loop, write_twice(console, first, "end"));
  CHECK(text == first + "end");
  CHECK((::fcntl(pipe.write_end.get(), F_GETFL) & O_NONBLOCK) == 0);  // it is not ours alone
}

TEST_CASE("a line of our own begins on a fresh line", "[agent][console]") {
  asio::io_context loop(1);
  tests::Pipe pipe;
  Console console(loop.get_executor(), pipe.write_end.get());
  console.write_line("one\n");
  console.show({kWorker, "", "50 %"});
  console.write_line("two\n");
  CHECK(pipe.read_available() == "one\n50 %\ntwo\n");
  tests::run_loop(loop, console.close(kPatience));
}

TEST_CASE("a console whose reader is gone drops output and stays usable", "[agent][console]") {
  std::signal(SIGPIPE, SIG_IGN);
  asio::io_context loop(1);
  tests::Pipe pipe;
  Console console(loop.get_executor(), pipe.write_end.get());
  pipe.read_end.reset();
  console.write_line("lost");
  console.write_line(std::string(2 * Console::kMostWaiting, 'x'));
  CHECK_FALSE(console.full());
  CHECK(console.is_broken());
  tests::run_loop(loop, console.close(kPatience));
}

TEST_CASE("a terminal that nobody reads fills up without blocking", "[agent][console]") {
  asio::io_context loop(1);
  const auto terminal = PseudoTerminal::open(-1);
  REQUIRE(terminal);
  Console console(loop.get_executor(), terminal->worker_end.get());
  console.write_line(std::string(2 * Console::kMostWaiting, 'x'));
  CHECK(console.full());
  tests::run_loop(loop, console.close(base::Duration::zero()));
}

TEST_CASE("a socket is a console, too", "[agent][console]") {
  asio::io_context loop(1);
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const base::UniqueFd read_end(ends[0]);
  const base::UniqueFd write_end(ends[1]);
  Console console(loop.get_executor(), write_end.get());
  console.write_line("one\n");
  std::array<char, 8> buffer{};
  REQUIRE(::read(read_end.get(), buffer.data(), buffer.size()) == 4);
  CHECK(std::string_view(buffer.data(), 4) == "one\n");
  console.write_line(std::string(2 * Console::kMostWaiting, 'x'));
  CHECK(console.full());
  tests::run_loop(loop, console.close(base::Duration::zero()));
}

TEST_CASE("a closed descriptor is a console that drops output", "[agent][console]") {
  asio::io_context loop(1);
  Console console(loop.get_executor(), -1);
  console.write_line("lost");
  CHECK(console.is_broken());
  tests::run_loop(loop, console.close(kPatience));
}

}  // namespace
}  // namespace rankrun::agent
