// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/log_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>

namespace rankrun::bench {

namespace {

constexpr std::size_t kShortestLine = 60;
constexpr std::size_t kLongestLine = 140;
constexpr std::size_t kLongestPiece = 200;
// Rare and short enough that the work decides how long it takes. The longest leaves a busy machine
// time before a launcher may think the worker idle, after 50 ms, and show an unfinished line.
constexpr std::uint64_t kPiecesPerPause = 20000;
constexpr std::uint64_t kLongestPauseMs = 20;

constexpr std::size_t kChecksumDigits = 8;
constexpr std::string_view kStamp = "stamp ";

// A word at a time, since it runs for every line at both ends. A torn line passes once in 4
// billion.
std::uint32_t checksum(std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
  std::uint64_t sum = text.size();
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t size = std::min(sizeof word, text.size());
    std::memcpy(&word, text.data(), size);
    text.remove_prefix(size);
    sum = (sum ^ word) * kOdd;
    sum ^= sum >> 32U;
  }
  return static_cast<std::uint32_t>(sum);
}

// Twice as long as any line needs, so that a line's filler can begin anywhere in the first half.
std::string make_filler() {
  constexpr std::string_view kText = "the quick brown fox jumps over 13 lazy dogs, {loss: 0.5}; ";
  std::string filler;
  while (filler.size() < 2 * kLongestLine) {
    filler += kText;
  }
  return filler;
}

using Hex = std::array<char, kChecksumDigits>;

Hex hex(std::uint32_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Hex text{};
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4) {
    *digit = kDigits[number % 16];
  }
  return text;
}

// With a blank after it.
void append_number(int number, std::string& text) {
  std::array<char, 12> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  *end = ' ';
  text.append(digits.data(), end + 1);
}

// Takes a number and the blank after it off the front.
template <typename Number>
bool take(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(' ')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

void append(const LogLine& line, std::uint64_t entropy, std::string& text) {
  static const std::string filler = make_filler();
  const std::size_t start = text.size();
  const std::size_t length = kShortestLine + entropy % (kLongestLine - kShortestLine + 1);
  const std::size_t end =
      start + length - kChecksumDigits - 2;  // a blank before, a line feed after
  append_number(line.rank, text);
  append_number(line.number, text);
  text.append(filler, (entropy >> 32U) % kLongestLine, end - text.size());
  text += ' ';
  const Hex sum = hex(checksum(std::string_view(text).substr(start)));
  text.append(sum.data(), sum.size()).append("\n");
}

std::optional<LogLine> decode(std::string_view text) {
  if (text.size() < kChecksumDigits) return std::nullopt;
  const std::string_view claimed = text.substr(text.size() - kChecksumDigits);
  text.remove_suffix(kChecksumDigits);
  const Hex sum = hex(checksum(text));
  if (claimed != std::string_view(sum.data(), sum.size())) return std::nullopt;
  LogLine line;
  if (!take(text, line.rank) || !take(text, line.number)) return std::nullopt;
  return line;
}

std::string encode_stamp(base::TimePoint now) {
  return fmt::format("{}{}\n", kStamp, now.time_since_epoch().count());
}

std::optional<base::TimePoint> decode_stamp(std::string_view line) {
  const auto start = line.find(kStamp);
  if (start == std::string_view::npos) return std::nullopt;
  line.remove_prefix(start + kStamp.size());
  base::Duration::rep count = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), count);
  if (error != std::errc()) return std::nullopt;
  return base::TimePoint(base::Duration(count));
}

LogWork::LogWork(int rank, int lines, std::uint64_t seed)
    : line_{.rank = rank, .number = 0},
      lines_(lines),
      random_(seed + static_cast<std::uint64_t>(rank)) {}

LogWork::Step LogWork::next() {
  if (pending_.size() < kLongestPiece) refill();
  Step step{.piece = pending_.substr(0, draw(1, kLongestPiece)), .pause = {}};
  pending_.remove_prefix(step.piece.size());
  if (draw(1, kPiecesPerPause) == 1) {
    step.pause = std::chrono::milliseconds(draw(1, kLongestPauseMs));
  }
  return step;
}

void LogWork::refill() {
  constexpr std::size_t kBlock = std::size_t{64} << 10;
  text_ = std::string(pending_);
  for (; text_.size() < kBlock && line_.number < lines_; ++line_.number) {
    append(line_, random_(), text_);
  }
  pending_ = text_;
}

std::uint64_t LogWork::draw(std::uint64_t low, std::uint64_t high) {
  return low + random_() % (high - low + 1);
}

}  // namespace rankrun::bench
