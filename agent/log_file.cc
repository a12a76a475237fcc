// SPDX-License-Identifier: Apache-2.0
#include "agent/log_file.h"

#include "store/base/text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace rankrun::agent {

std::shared_ptr<LogFile> LogFile::create(const std::string& path, base::Logger log) {
  return std::make_shared<LogFile>(path, std::move(log));
}

LogFile::LogFile(std::string path, base::Logger log)
    : path_(std::move(path)),
      log_(std::move(log)),
      fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {
  if (!fd_) give_up(errno);
}

std::size_t LogFile::append(std::string_view bytes) {
  std::size_t written = 0;
  while (!failed_ && written < bytes.size()) {
    const ssize_t size = ::write(fd_.get(), bytes.data() + written, bytes.size() - written);
    if (size > 0) written += static_cast<std::size_t>(size);
    if (size < 0 && errno != EINTR) give_up(errno);
  }
  return written;
}

std::size_t LogFile::read_back(std::size_t offset, std::span<char> buffer) {
  ssize_t size = 0;
  do {
    size = ::pread(fd_.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset));
  } while (size < 0 && errno == EINTR);
  if (size > 0) return static_cast<std::size_t>(size);
  log_->warn("the console misses a part of {}: it cannot be read back{}",
             base::escape_control(path_),
             size == 0 ? ", the file was made shorter" : "");
  return 0;
}

void LogFile::give_up(int error) {
  failed_ = true;
  const base::Error trouble{std::error_code(error, std::generic_category()),
                            "cannot write log file '" + path_ + "'",
                            "the output goes on without it"};
  log_->warn("{}", trouble.message());
}

}  // namespace rankrun::agent
