// SPDX-License-Identifier: Apache-2.0
// Pure: a worker's output as lines. Splits a stream into whole lines, and remembers the last ones.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::agent {

/// Holds an unfinished line back until it is finished, so that lines of several workers do not mix
/// on the console. The next state of a progress bar, after a carriage return, also finishes one:
/// progress bars never send a newline.
class LineSplitter {
 public:
  /// Adds bytes; returns the whole lines that are there now, their ends included, in two parts that
  /// may be empty: what was held back with its end, and what follows. They are valid until the next
  /// call and as long as `bytes` is. A line longer than kLongestLine is returned in pieces.
  std::array<std::string_view, 2> add(std::string_view bytes);

  /// The unfinished line, which is then forgotten; valid until the next call.
  std::string_view take_rest();

  bool has_rest() const { return !rest_.empty(); }

  static constexpr std::size_t kLongestLine = std::size_t{64} << 10;

 private:
  std::string rest_;
  std::string ready_;  // what was held back and is returned
};

/// The last lines of a stream, at most kMostLines and kMostBytes of them in all. Of a line that is
/// written over by carriage returns (a progress bar) only the last state counts; of one that is
/// too long, its end.
class LineTail {
 public:
  void add(std::string_view bytes);
  std::vector<std::string> lines() const;

  static constexpr std::size_t kMostLines = 20;
  static constexpr std::size_t kMostBytes = 4096;

 private:
  void start_line();
  void drop_first();
  void extend_line(std::string_view bytes);

  std::deque<std::string> lines_{""};  // the last one is unfinished, and may be empty
  std::size_t bytes_ = 0;              // in lines_
  bool returned_ = false;              // a carriage return came last
};

}  // namespace rankrun::agent
