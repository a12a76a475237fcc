// SPDX-License-Identifier: Apache-2.0
#include "agent/process_table.h"

#include "store/base/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <system_error>

namespace rankrun::agent {

namespace fs = std::filesystem;

namespace {

// The start of a small file, with all that we need of it; empty when the process is gone.
template <std::size_t kSize>
std::string_view read_start(const fs::path& path, std::array<char, kSize>& buffer) {
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
  return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// Takes the next word off `text`.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
  text.remove_prefix(word.size());
  return word;
}

template <typename Number>
bool take_number(std::string_view& text, Number& number) {
  const std::string_view word = next_word(text);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

fs::path file_of(const fs::path& proc, pid_t pid, const char* name) {
  return proc / std::to_string(pid) / name;
}

void skip_words(std::string_view& text, int count) {
  for (int i = 0; i < count; ++i) {
    next_word(text);
  }
}

}  // namespace

// "PID (name) state parent group session ..."; the name may hold anything, brackets included.
std::optional<ProcessEntry> parse_process(std::string_view stat) {
  const auto name_start = stat.find('(');
  const auto name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_start > name_end) return std::nullopt;
  ProcessEntry entry;
  std::string_view front = stat.substr(0, name_start);
  std::string_view rest = stat.substr(name_end + 1);
  if (!take_number(front, entry.pid)) return std::nullopt;
  entry.name = stat.substr(name_start + 1, name_end - name_start - 1);
  const std::string_view state = next_word(rest);
  if (state.size() != 1) return std::nullopt;
  entry.state = state.front();
  if (!take_number(rest, entry.parent) || !take_number(rest, entry.group) ||
      !take_number(rest, entry.session)) {
    return std::nullopt;
  }
  skip_words(rest, 7);  // the session is field 6, the times of the CPU are 14 to 17
  for (int i = 0; i < 4; ++i) {
    std::uint64_t ticks = 0;
    if (!take_number(rest, ticks)) return std::nullopt;
    entry.cpu_ticks += ticks;
  }
  skip_words(rest, 2);  // to field 20
  if (!take_number(rest, entry.threads)) return std::nullopt;
  skip_words(rest, 1);
  if (!take_number(rest, entry.started)) return std::nullopt;
  return entry;
}

std::optional<ProcessEntry> find_process(const fs::path& proc, pid_t pid) {
  std::array<char, 512> buffer{};
  return parse_process(read_start(file_of(proc, pid, "stat"), buffer));
}

void for_each_process(const fs::path& proc, const std::function<void(const ProcessEntry&)>& visit) {
  std::error_code ignored;  // a process that ends meanwhile
  auto folder = fs::directory_iterator(proc, ignored);
  for (; folder != fs::directory_iterator(); folder.increment(ignored)) {
    const fs::path& path = folder->path();
    if (std::isdigit(static_cast<unsigned char>(path.filename().c_str()[0])) == 0) continue;
    std::array<char, 512> buffer{};
    if (const auto entry = parse_process(read_start(path / "stat", buffer))) visit(*entry);
  }
}

std::optional<uid_t> user_of(const fs::path& proc, pid_t pid) {
  std::array<char, 2048> buffer{};
  std::string_view status = read_start(file_of(proc, pid, "status"), buffer);
  constexpr std::string_view kField = "\nUid:";
  const auto field = status.find(kField);
  if (field == std::string_view::npos) return std::nullopt;
  status.remove_prefix(field + kField.size());
  uid_t uid = 0;
  return take_number(status, uid) ? std::optional(uid) : std::nullopt;
}

}  // namespace rankrun::agent
