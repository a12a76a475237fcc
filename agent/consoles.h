// SPDX-License-Identifier: Apache-2.0
// Our stdout and stderr, as all workers of all attempts share them.
#pragma once

#include "agent/config.h"
#include "agent/console_feed.h"

#include <boost/asio/any_io_executor.hpp>

#include <sys/stat.h>

namespace rankrun::agent {

/// One file, pipe or terminal behind both descriptors.
inline bool is_same_place(int one, int other) {
  struct stat first {};
  struct stat second {};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/// Belongs to who runs the loop, and outlives the agent.
struct Consoles {
  /// For the descriptors, see Console; for `folds`, ConsoleFeed.
  Consoles(const boost::asio::any_io_executor& executor, bool folds, int out_fd, int err_fd)
      : out(executor, out_fd, folds),
        err(executor, err_fd, folds),
        is_one_place(is_same_place(out_fd, err_fd)) {}

  ConsoleFeed out;
  ConsoleFeed err;

  /// Where they are one place (2>&1), lines of both must not mix: all goes through `err`.
  bool is_one_place;

  ConsoleFeed& of(Stream stream) { return stream == Stream::out && !is_one_place ? out : err; }

  /// Drops what is not shown yet, and all that comes.
  void give_up() {
    out.console().give_up();
    err.console().give_up();
  }
};

}  // namespace rankrun::agent
