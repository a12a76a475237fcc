// SPDX-License-Identifier: Apache-2.0
#include "agent/whole_file.h"

#include "store/base/unique_fd.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace rankrun::agent {

using base::Result;

namespace {

constexpr mode_t kMode = 0666;  // less the umask

// 0, or what went wrong.
int write_to(const std::string& path, int flags, std::string_view text) {
  const base::UniqueFd fd(
      ::open(path.c_str(), flags | O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, kMode));
  if (!fd) return errno;
  while (!text.empty()) {
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

bool is_replaceable(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

int replace(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  ::unlink(temporary.c_str());  // of a process that had our id and was killed
  int error = write_to(temporary, O_CREAT | O_EXCL, text);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(temporary.c_str());
  return error;
}

// A mount point, or a file in a folder that we may not change, cannot be replaced but written.
bool is_fixed(int error) {
  return error == EBUSY || error == EACCES || error == EPERM || error == EROFS;
}

}  // namespace

Result<void> write_whole_file(const std::string& path, std::string_view text) {
  int error = is_replaceable(path) ? replace(path, text) : write_to(path, O_TRUNC, text);
  if (is_fixed(error)) error = write_to(path, O_TRUNC, text);
  if (error != 0) return base::errno_failure(error, "cannot write '" + path + "'");
  return {};
}

}  // namespace rankrun::agent
