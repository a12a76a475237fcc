// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel_files.h"

#include "store/base/text.h"
#include "store/base/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>

namespace rankrun::agent {

namespace {

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::string> read_kernel_file(const std::filesystem::path& path) {
  // Not a stream: those throw where such a file opens but cannot be read.
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> chunk{};
  ssize_t got = 0;
  while ((got = ::read(file.get(), chunk.data(), chunk.size())) > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return got == 0 ? std::optional<std::string>(base::trimmed(text)) : std::nullopt;
}

bool write_kernel_file(const std::filesystem::path& path, std::string_view text) {
  const base::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::optional<int> parse_number(std::string_view text) {
  return parse_whole<int>(text);
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  return parse_whole<std::uint64_t>(text);
}

std::optional<std::set<int>> parse_cpu_list(std::string_view text) {
  constexpr int kMostCpus = 1 << 16;  // eight times what kernels are built for
  std::set<int> cpus;
  if (text.empty()) return cpus;
  for (const std::string_view range : base::split(text, ',')) {
    const auto dash = range.find('-');
    const auto first = parse_number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCpus) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) {
      cpus.insert(cpus.end(), cpu);
    }
  }
  return cpus;
}

}  // namespace rankrun::agent
