// SPDX-License-Identifier: Apache-2.0
// A file that a worker's output is appended to. Trouble with it never is the worker's: it is told
// once, and the output goes on without the file.
#pragma once

#include "store/base/log.h"
#include "store/base/unique_fd.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace rankrun::agent {

class LogFile {
 public:
  /// Makes a new file for our user alone; never one that is there, nor through a link. Shared,
  /// since the console may read back what a worker, long gone, has written.
  static std::shared_ptr<LogFile> create(const std::string& path, base::Logger log);

  LogFile(std::string path, base::Logger log);

  /// Returns how many of the bytes are in the file now: after the first trouble none.
  std::size_t append(std::string_view bytes);

  /// Fills `buffer` with what stands at `offset`. Returns how much that is; 0 when it cannot be
  /// read, which is told, too.
  std::size_t read_back(std::size_t offset, std::span<char> buffer);

 private:
  void give_up(int error);

  std::string path_;
  base::Logger log_;
  base::UniqueFd fd_;
  bool failed_ = false;  // nothing is written any more
};

}  // namespace rankrun::agent
