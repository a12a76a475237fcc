// SPDX-License-Identifier: Apache-2.0
// Pure: equal lines that several workers write at about the same time become one.
#pragma once

#include "agent/line_merge.h"
#include "store/base/clock.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rankrun::agent {

/// A line is held back until every source has written it or kWindow is over, whichever is first.
/// The lines of a source keep their order, and none is lost.
class LineFold {
 public:
  struct Line {
    std::string text;               ///< its end included
    std::vector<SourceId> sources;  ///< in the order in which they wrote it
  };

  /// A source takes part from open to close; what it wrote is then due, and what came before it.
  void open(SourceId source);
  void close(SourceId source);

  /// Adds output: whole lines, or parts of one, which are not folded.
  void add(SourceId source, std::string_view text, base::TimePoint now);

  /// The next line that is due; nothing when the rest can wait.
  std::optional<Line> take(base::TimePoint now);

  /// When the next line is due at the latest.
  std::optional<base::TimePoint> next_due() const;

  static constexpr base::Duration kWindow = std::chrono::milliseconds(100);
  /// More than this is not held back.
  static constexpr std::size_t kMostBytes = std::size_t{256} << 10;
  /// Short lines count as if they were this long: to look one up takes time, too.
  static constexpr std::size_t kLeastLineBytes = 64;

 private:
  using Place = std::uint64_t;  // counts the lines that were ever held

  struct Held {
    Line line;
    base::TimePoint since;
  };
  struct Source {
    Place last = 0;        // of its held lines; 0: none was
    bool in_line = false;  // what it wrote last did not end its line
  };

  void add_line(SourceId source, std::string_view line, base::TimePoint now);
  Place find(std::string_view line, Place after) const;

  std::map<SourceId, Source> sources_;
  std::deque<Held> held_;
  Place first_ = 1;        // the place of held_.front()
  Place due_through_ = 0;  // lines up to here are due
  std::size_t bytes_ = 0;
  std::unordered_multimap<std::string_view, Place> by_text_;  // views of whole lines in held_
};

}  // namespace rankrun::agent
