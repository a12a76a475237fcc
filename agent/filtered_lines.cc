// SPDX-License-Identifier: Apache-2.0
#include "agent/filtered_lines.h"

#include <algorithm>
#include <utility>

namespace rankrun::agent {

FilteredLines::FilteredLines(std::vector<std::string> texts,
                             LinePrefix prefix,
                             std::shared_ptr<LogFile> file)
    : texts_(std::move(texts)), prefix_(std::move(prefix)), file_(std::move(file)) {}

void FilteredLines::add(std::string_view bytes) {
  for (const std::string_view whole : lines_.add(bytes)) {
    select(whole);
  }
}

bool FilteredLines::matches(std::string_view line) const {
  return std::any_of(texts_.begin(), texts_.end(), [line](const std::string& text) {
    return line.find(text) != std::string_view::npos;
  });
}

void FilteredLines::select(std::string_view lines) {
  selected_.clear();
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (!matches(line)) continue;
    selected_ += prefix_.at(std::chrono::system_clock::now());
    selected_ += line;
    selected_ += '\n';
  }
  if (!selected_.empty()) file_->append(selected_);
}

}  // namespace rankrun::agent
