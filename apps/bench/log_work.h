// SPDX-License-Identifier: Apache-2.0
// Pure: the lines that a worker of `rankbench logs` writes, and how they are read back.
// A line is "RANK NUMBER FILLER CHECKSUM", 100 bytes long on average; it never has a '['.
#pragma once

#include "store/base/clock.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace rankrun::bench {

struct LogLine {
  int rank = 0;
  int number = 0;

  bool operator==(const LogLine&) const = default;
};

/// Appends the line with its line feed; length and filler come from `entropy`.
void append(const LogLine& line, std::uint64_t entropy, std::string& text);

/// Nothing unless the checksum is right. Without line feed.
std::optional<LogLine> decode(std::string_view text);

/// A line that says when it was written.
std::string encode_stamp(base::TimePoint now);

/// Anywhere in `line`.
std::optional<base::TimePoint> decode_stamp(std::string_view line);

/// What one worker does, from a seed: its lines, one after the other, in pieces that end anywhere.
/// Cheap, so that what is measured is the launcher.
class LogWork {
 public:
  struct Step {
    std::string_view piece;  ///< valid until the next step; empty: the end
    base::Duration pause{};  ///< after writing it
  };

  LogWork(int rank, int lines, std::uint64_t seed);

  Step next();

 private:
  void refill();
  std::uint64_t draw(std::uint64_t low, std::uint64_t high);

  LogLine line_;  // the next
  int lines_;
  std::mt19937_64 random_;
  std::string text_;          // of lines made so far
  std::string_view pending_;  // of text_, not handed out yet
};

}  // namespace rankrun::bench
