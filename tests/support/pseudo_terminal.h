// SPDX-License-Identifier: Apache-2.0
// A terminal that a test types into and reads from.
#pragma once

#include "store/base/clock.h"
#include "store/base/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

namespace rankrun::tests {

class PseudoTerminal {
 public:
  PseudoTerminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    REQUIRE(::grantpt(master_.get()) == 0);
    REQUIRE(::unlockpt(master_.get()) == 0);
    std::array<char, 64> name{};
    REQUIRE(::ptsname_r(master_.get(), name.data(), name.size()) == 0);
    device_ = name.data();
  }

  const std::string& device() const { return device_; }

  /// In a child, before exec: it leads a new session on this terminal, which is its stdin, and its
  /// stderr when asked. Async-signal-safe.
  void take_session(bool with_stderr) const {
    ::setsid();
    const int fd = ::open(device_.c_str(), O_RDWR | O_CLOEXEC);
    ::ioctl(fd, TIOCSCTTY, 0);
    ::dup2(fd, STDIN_FILENO);
    if (with_stderr) ::dup2(fd, STDERR_FILENO);
  }

  void type(const std::string& keys) const {
    REQUIRE(::write(master_.get(), keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
  }

  int master() const { return master_.get(); }

 private:
  base::UniqueFd master_;
  std::string device_;
};

}  // namespace rankrun::tests
