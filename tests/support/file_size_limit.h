// SPDX-License-Identifier: Apache-2.0
// A limit on the length of files while it lives: writing beyond it fails, as on a full disk.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstddef>

namespace rankrun::tests {

class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::size_t bytes) {
    before_signal_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_signal_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*before_signal_)(int) = SIG_DFL;
};

}  // namespace rankrun::tests
