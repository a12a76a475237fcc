// SPDX-License-Identifier: Apache-2.0
// The lines of one stream that contain certain texts, written once more to a file that all workers
// of the attempt share.
#pragma once

#include "agent/line_prefix.h"
#include "agent/log_file.h"
#include "agent/log_lines.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::agent {

class FilteredLines {
 public:
  FilteredLines(std::vector<std::string> texts, LinePrefix prefix, std::shared_ptr<LogFile> file);

  /// More of the stream. A line that LineSplitter hands on in pieces counts as several.
  void add(std::string_view bytes);

  /// Nothing more comes.
  void finish() { select(lines_.take_rest()); }

 private:
  bool matches(std::string_view line) const;
  void select(std::string_view lines);

  std::vector<std::string> texts_;
  LinePrefix prefix_;
  std::shared_ptr<LogFile> file_;
  LineSplitter lines_;
  std::string selected_;
};

}  // namespace rankrun::agent
