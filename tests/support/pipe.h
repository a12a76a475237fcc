// SPDX-License-Identifier: Apache-2.0
// A pipe whose ends close themselves.
#pragma once

#include "store/base/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

namespace rankrun::tests {

struct Pipe {
  base::UniqueFd read_end;
  base::UniqueFd write_end;

  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    read_end = base::UniqueFd(ends[0]);
    write_end = base::UniqueFd(ends[1]);
  }

  /// What is in the pipe now; does not wait.
  std::string read_available() {
    ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
      const ssize_t got = ::read(read_end.get(), buffer.data(), buffer.size());
      if (got <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }
};

}  // namespace rankrun::tests
