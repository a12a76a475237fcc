// SPDX-License-Identifier: Apache-2.0
#include "agent/pseudo_terminal.h"

#include <catch2/catch.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace rankrun::agent {
namespace {

void resize(int terminal, unsigned short rows, unsigned short columns) {
  const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  REQUIRE(::ioctl(terminal, TIOCSWINSZ, &size) == 0);
}

winsize size_of(int terminal) {
  winsize size{};
  REQUIRE(::ioctl(terminal, TIOCGWINSZ, &size) == 0);
  return size;
}

TEST_CASE("a worker's terminal is one, and as large as ours", "[agent][terminal]") {
  auto ours = PseudoTerminal::open(-1);
  REQUIRE(ours);
  resize(ours->worker_end.get(), 33, 111);
  auto pair = PseudoTerminal::open(ours->worker_end.get());
  REQUIRE(pair);
  CHECK(::isatty(pair->worker_end.get()) == 1);
  CHECK(size_of(pair->worker_end.get()).ws_col == 111);
  resize(ours->worker_end.get(), 20, 70);
  copy_terminal_size(ours->worker_end.get(), pair->read_end.get());
  CHECK(size_of(pair->worker_end.get()).ws_row == 20);
  CHECK(size_of(pair->worker_end.get()).ws_col == 70);
}

TEST_CASE("bytes pass a worker's terminal unchanged, to the last one", "[agent][terminal]") {
  auto pair = PseudoTerminal::open(-1);
  REQUIRE(pair);
  const std::string bytes("a\nb\r\n\t\x03\x04\xff\0end", 13);
  REQUIRE(::write(pair->worker_end.get(), bytes.data(), bytes.size()) ==
          static_cast<ssize_t>(bytes.size()));
  pair->worker_end.reset();
  std::string got;
  std::array<char, 64> buffer{};
  ssize_t size = 0;
  while ((size = ::read(pair->read_end.get(), buffer.data(), buffer.size())) > 0) {
    got.append(buffer.data(), static_cast<std::size_t>(size));
  }
  CHECK(errno == EIO);
  CHECK(got == bytes);
}

}  // namespace
}  // namespace rankrun::agent
