// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/console_ends.h"

#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace rankrun::bench {

using base::Result;
using base::UniqueFd;

namespace {

Result<ConsoleEnds> open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::errno_failure(errno, "cannot make a pipe");
  return ConsoleEnds{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

UniqueFd open_raw_terminal(int master) {
  std::array<char, 64> name{};
  if (::grantpt(master) != 0 || ::unlockpt(master) != 0) return {};
  if (::ptsname_r(master, name.data(), name.size()) != 0) return {};
  UniqueFd terminal(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios mode{};
  if (!terminal || ::tcgetattr(terminal.get(), &mode) != 0) return {};
  ::cfmakeraw(&mode);
  if (::tcsetattr(terminal.get(), TCSANOW, &mode) != 0) return {};
  return terminal;
}

}  // namespace

Result<ConsoleEnds> open_console(ConsoleKind kind) {
  if (kind == ConsoleKind::pipe) return open_pipe();
  UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  UniqueFd terminal = open_raw_terminal(master.get());
  if (!terminal) return base::errno_failure(errno, "cannot make a terminal", "mount /dev/pts");
  return ConsoleEnds{std::move(master), std::move(terminal)};
}

}  // namespace rankrun::bench
