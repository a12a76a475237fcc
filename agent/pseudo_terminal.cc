// SPDX-License-Identifier: Apache-2.0
#include "agent/pseudo_terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>

namespace rankrun::agent {

std::optional<PseudoTerminal> PseudoTerminal::open(int like) {
  PseudoTerminal pair;
  pair.read_end = base::UniqueFd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  const int unlock = 0;
  if (!pair.read_end || ::ioctl(pair.read_end.get(), TIOCSPTLCK, &unlock) != 0) return std::nullopt;
  // Not by the name in /dev/pts, which a container may lack.
  pair.worker_end =
      base::UniqueFd(::ioctl(pair.read_end.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings{};
  if (!pair.worker_end || ::tcgetattr(pair.worker_end.get(), &settings) != 0) return std::nullopt;
  ::cfmakeraw(&settings);
  if (::tcsetattr(pair.worker_end.get(), TCSANOW, &settings) != 0) return std::nullopt;
  copy_terminal_size(like, pair.read_end.get());
  return pair;
}

void copy_terminal_size(int like, int read_end) {
  winsize size{};
  if (::ioctl(like, TIOCGWINSZ, &size) == 0) ::ioctl(read_end, TIOCSWINSZ, &size);
}

}  // namespace rankrun::agent
