// SPDX-License-Identifier: Apache-2.0
// Pure: lines of many sources on one console, none mixed with another's.
#pragma once

#include <string>
#include <string_view>

namespace rankrun::agent {

/// Whose text it is; never used for two sources in one console's life.
using SourceId = int;

/// Ourselves: our log, and lines that several workers have written.
inline constexpr SourceId kOwnSource = -1;

/// A piece of one source's output: whole lines, or a part of one. Never empty.
struct SourceText {
  SourceId source = kOwnSource;
  std::string_view prefix;
  std::string_view text;
};

/// Knows who owns the line that the console is in. A prefix stands once before each visible line;
/// one that is written over after a carriage return (a progress bar) gets it anew.
class LineMerge {
 public:
  /// Appends to `out` what the console gets.
  void add(const SourceText& piece, std::string& out);

 private:
  bool must_end_line(const SourceText& piece) const;
  void add_states(std::string_view prefix, std::string_view line, std::string& out);
  void add_state(std::string_view prefix, std::string_view state, std::string& out);

  SourceId owner_ = kOwnSource;  // of the unfinished line
  bool in_line_ = false;         // something visible stands in the line
  bool at_start_ = true;         // of a line, or a carriage return came last
};

}  // namespace rankrun::agent
