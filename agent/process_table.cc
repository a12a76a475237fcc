// SPDX-License-Identifier: Apache-2.0
#include "agent/process_table.h"

#include "store/base/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

namespace rankrun::agent {

namespace fs = std::filesystem;

namespace {

// The start of a process's stat file, with all that we need; empty when the process is gone.
std::string read_start(const fs::path& stat) {
  std::array<char, 256> buffer{};
  const base::UniqueFd file(::open(stat.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
  return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// "PID (name) state parent group ..."; the name may hold anything, brackets included.
std::optional<ProcessEntry> parse_entry(const std::string& stat) {
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  ProcessEntry entry;
  std::from_chars(stat.data(), stat.data() + stat.size(), entry.pid);
  std::istringstream fields(stat.substr(name_end + 1));
  char state = 0;
  fields >> state >> entry.parent >> entry.group;
  if (!fields) return std::nullopt;
  entry.is_zombie = state == 'Z' || state == 'X';
  return entry;
}

}  // namespace

void for_each_process(const fs::path& proc, const std::function<void(const ProcessEntry&)>& visit) {
  std::error_code ignored;  // a process that ends meanwhile
  auto folder = fs::directory_iterator(proc, ignored);
  for (; folder != fs::directory_iterator(); folder.increment(ignored)) {
    const fs::path& path = folder->path();
    if (std::isdigit(static_cast<unsigned char>(path.filename().c_str()[0])) == 0) continue;
    if (const auto entry = parse_entry(read_start(path / "stat"))) visit(*entry);
  }
}

}  // namespace rankrun::agent
