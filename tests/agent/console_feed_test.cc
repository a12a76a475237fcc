// SPDX-License-Identifier: Apache-2.0
#include "agent/console_feed.h"

#include "store/base/async.h"
#include "tests/support/pipe.h"
#include "tests/support/recorded_log.h"
#include "tests/support/run_loop.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>

namespace rankrun::agent {
namespace {

namespace asio = boost::asio;

constexpr base::Duration kPatience = std::chrono::seconds(20);

struct Setup {
  explicit Setup(bool folds = false) : feed(loop.get_executor(), pipe.write_end.get(), folds) {}

  asio::io_context loop{1};
  tests::Pipe pipe;
  tests::TempDir dir;
  tests::RecordedLog log;
  ConsoleFeed feed;
  std::string shown;

  ConsoleStream& open(int rank, std::shared_ptr<LogFile> file = nullptr) {
    LinePrefix prefix("${rank}:", {.role_name = "", .local_rank = 0, .rank = rank, .host = ""});
    return feed.open({.rank = rank, .prefix = std::move(prefix), .file = std::move(file)});
  }
  std::string log_path() const { return (dir.path() / "log").string(); }
  std::shared_ptr<LogFile> log_file() { return LogFile::create(log_path(), log.log()); }

  // Reads the console until `condition` holds.
  asio::awaitable<void> read_until(std::function<bool()> condition) {
    asio::steady_timer timer(loop);
    shown += pipe.read_available();
    while (!condition()) {
      timer.expires_after(std::chrono::microseconds(100));
      co_await timer.async_wait(base::kUseTuple);
      shown += pipe.read_available();
    }
  }
  asio::awaitable<void> close() {
    bool closed = false;
    base::TaskGroup tasks(loop.get_executor(),
                          [](std::exception_ptr error) { std::rethrow_exception(error); });
    tasks.spawn([](Setup& self, bool& done) -> asio::awaitable<void> {
      co_await self.feed.close(kPatience);
      done = true;
    }(*this, closed));
    co_await read_until([&closed] { return closed; });
    co_await tasks.join();
    shown += pipe.read_available();
  }
};

// Lines "0\n", "1\n" and so on, `bytes` in all or a little more.
std::string numbered(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) {
    text += std::to_string(i) + '\n';
  }
  return text;
}

std::string with_prefix(const std::string& prefix, std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = text.find('\n') + 1;
    result += prefix;
    result += text.substr(0, end);
    text.remove_prefix(end);
  }
  return result;
}

void add_to_file(LogFile& file, ConsoleStream& stream, std::string_view text) {
  stream.add(text, file.append(text));
}

TEST_CASE("lines are shown at once, an unfinished one after a while", "[agent][feed]") {
  Setup setup;
  ConsoleStream& stream = setup.open(3);
  stream.add("one\ntwo\nwait", 0);
  setup.shown = setup.pipe.read_available();
  CHECK(setup.shown == "3:one\n3:two\n");
  tests::run_loop(setup.loop, setup.read_until([&] { return setup.shown.ends_with("wait"); }));
  stream.add("ed\n", 0);
  stream.finish();
  setup.loop.restart();
  tests::run_loop(setup.loop, setup.close());
  CHECK(setup.shown == "3:one\n3:two\n3:waited\n");
}

TEST_CASE("an unfinished line does not wait when its writer has ended", "[agent][feed]") {
  Setup setup;
  ConsoleStream& stream = setup.open(0);
  stream.add("last words", 0);
  stream.flush();
  CHECK(setup.pipe.read_available() == "0:last words");
  stream.finish();
  tests::run_loop(setup.loop, setup.close());
}

TEST_CASE("what a full console does not take is read back from the file", "[agent][feed]") {
  Setup setup;
  const auto file = setup.log_file();
  ConsoleStream& stream = setup.open(0, file);
  const std::string text = numbered(4 * Console::kMostWaiting);
  constexpr std::size_t kPiece = 50'000;
  for (std::size_t at = 0; at < text.size(); at += kPiece) {
    add_to_file(*file, stream, std::string_view(text).substr(at, kPiece));
    CHECK_FALSE(stream.must_pause());
  }
  stream.finish();
  tests::run_loop(setup.loop, setup.close());
  CHECK(setup.shown == with_prefix("0:", text));
  CHECK(setup.log.text().empty());
}

TEST_CASE("without a file a full console pauses the stream, and loses nothing", "[agent][feed]") {
  Setup setup;
  ConsoleStream& stream = setup.open(0);
  const std::string text = numbered(2 * Console::kMostWaiting);
  stream.add(text, 0);
  CHECK_FALSE(stream.must_pause());
  stream.add("more\n", 0);
  CHECK(stream.must_pause());
  tests::run_loop(setup.loop, [](Setup& self, ConsoleStream& paused) -> asio::awaitable<void> {
    co_await self.read_until([&paused] { return !paused.must_pause(); });
    co_await paused.resumed();
    paused.finish();
    co_await self.close();
  }(setup, stream));
  CHECK(setup.shown == with_prefix("0:", text) + "0:more\n");
}

TEST_CASE("a file that takes no more while the console is full pauses the stream",
          "[agent][feed]") {
  Setup setup;
  const auto file = setup.log_file();
  ConsoleStream& stream = setup.open(0, file);
  const std::string text = numbered(2 * Console::kMostWaiting);
  add_to_file(*file, stream, text);
  const std::string more = "in the file\nnot there\n";
  constexpr std::size_t kInFile = 12;
  REQUIRE(file->append(more.substr(0, kInFile)) == kInFile);
  stream.add(more, kInFile);
  CHECK(stream.must_pause());
  stream.finish();
  tests::run_loop(setup.loop, setup.close());
  CHECK(setup.shown == with_prefix("0:", text + more));
}

TEST_CASE("a file that was cut short is told and does not stop the others", "[agent][feed]") {
  Setup setup;
  const auto file = setup.log_file();
  ConsoleStream& stream = setup.open(0, file);
  ConsoleStream& other = setup.open(1);
  add_to_file(*file, stream, numbered(2 * Console::kMostWaiting));
  add_to_file(*file, stream, "lost\n");
  std::filesystem::resize_file(setup.log_path(), 0);
  other.add("kept\n", 0);
  stream.finish();
  other.finish();
  tests::run_loop(setup.loop, setup.close());
  CHECK_THAT(setup.shown, Catch::EndsWith("1:kept\n"));
  CHECK(setup.shown.find("lost") == std::string::npos);
  CHECK_THAT(setup.log.text(), Catch::Contains("cannot be read back"));
}

TEST_CASE("streams that have ended are shown before those that came later", "[agent][feed]") {
  Setup setup;
  const auto file = setup.log_file();
  ConsoleStream& former = setup.open(0, file);
  add_to_file(*file, former, numbered(2 * Console::kMostWaiting));
  add_to_file(*file, former, "former\n");
  former.finish();
  ConsoleStream& present = setup.open(0);
  present.add("present\n", 0);
  present.finish();
  tests::run_loop(setup.loop, setup.close());
  CHECK_THAT(setup.shown, Catch::EndsWith("0:former\n0:present\n"));
}

TEST_CASE("a console whose reader is gone lets paused streams go on", "[agent][feed]") {
  std::signal(SIGPIPE, SIG_IGN);
  Setup setup;
  ConsoleStream& stream = setup.open(0);
  stream.add(numbered(2 * Console::kMostWaiting), 0);
  stream.add("more\n", 0);
  REQUIRE(stream.must_pause());
  setup.pipe.read_end.reset();
  tests::run_loop(setup.loop, [](Setup& self, ConsoleStream& paused) -> asio::awaitable<void> {
    co_await paused.resumed();
    paused.finish();
    co_await self.feed.close(kPatience);
  }(setup, stream));
  SUCCEED("and closing did not wait");
}

TEST_CASE("a console that nobody reads is given up in the end", "[agent][feed]") {
  Setup setup;
  const auto file = setup.log_file();
  ConsoleStream& stream = setup.open(0, file);
  add_to_file(*file, stream, numbered(3 * Console::kMostWaiting));
  stream.finish();
  tests::run_loop(setup.loop, setup.feed.close(base::Duration::zero()));
  CHECK(std::filesystem::file_size(setup.log_path()) > 3 * Console::kMostWaiting);
}

TEST_CASE("equal lines of several ranks are shown once", "[agent][feed][fold]") {
  Setup setup(true);
  ConsoleStream& zero = setup.open(0);
  ConsoleStream& one = setup.open(1);
  zero.add("same\nmine\n", 0);
  one.add("same\n", 0);
  setup.shown = setup.pipe.read_available();
  CHECK(setup.shown == "[ranks 0-1]: same\n");
  one.add("yours\nname? ", 0);
  zero.finish();
  one.finish();
  tests::run_loop(setup.loop, setup.close());
  CHECK(setup.shown == "[ranks 0-1]: same\n0:mine\n1:yours\n1:name? ");
}

TEST_CASE("a line that only one rank writes is shown soon", "[agent][feed][fold]") {
  Setup setup(true);
  ConsoleStream& zero = setup.open(0);
  ConsoleStream& one = setup.open(1);
  zero.add("only mine\n", 0);
  CHECK(setup.pipe.read_available().empty());
  tests::run_loop(setup.loop, setup.read_until([&] { return setup.shown == "0:only mine\n"; }));
  zero.finish();
  one.finish();
  setup.loop.restart();
  tests::run_loop(setup.loop, setup.close());
}

}  // namespace
}  // namespace rankrun::agent
