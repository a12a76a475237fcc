// SPDX-License-Identifier: Apache-2.0
#include "agent/line_merge.h"

#include <algorithm>

namespace rankrun::agent {

void LineMerge::add(const SourceText& piece, std::string& out) {
  if (must_end_line(piece)) {
    out += '\n';
    in_line_ = false;
    at_start_ = true;
  }
  owner_ = piece.source;
  if (piece.prefix.empty()) {
    out += piece.text;
    in_line_ = piece.text.back() != '\n';
    at_start_ = !in_line_;
    return;
  }
  const bool has_returns = piece.text.find('\r') != std::string_view::npos;
  std::string_view rest = piece.text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    if (has_returns) {
      add_states(piece.prefix, line, out);
    } else {
      add_state(piece.prefix, line, out);
    }
    rest.remove_prefix(end);
  }
}

// Progress bars of several workers without prefix write over each other, as on any terminal that
// they share.
bool LineMerge::must_end_line(const SourceText& piece) const {
  const bool writes_over = piece.prefix.empty() && piece.text.front() == '\r';
  return in_line_ && owner_ != piece.source && !writes_over;
}

// A line, with what was written over by carriage returns.
void LineMerge::add_states(std::string_view prefix, std::string_view line, std::string& out) {
  while (!line.empty()) {
    if (line.front() == '\r') {
      out += '\r';
      at_start_ = true;
      line.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(line.find('\r'), line.size());
    add_state(prefix, line.substr(0, end), out);
    line.remove_prefix(end);
  }
}

void LineMerge::add_state(std::string_view prefix, std::string_view state, std::string& out) {
  const bool only_ends_line = in_line_ && state == "\n";
  if (at_start_ && !only_ends_line) out += prefix;
  out += state;
  in_line_ = state.back() != '\n';
  at_start_ = !in_line_;
}

}  // namespace rankrun::agent
