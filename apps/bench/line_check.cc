// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/line_check.h"

#include "apps/bench/log_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <utility>

namespace rankrun::bench {

namespace {

constexpr std::string_view kPrefixStart = "[default";
constexpr std::string_view kPrefixEnd = "]:";

// The rank in the prefix that `text` starts with, which is taken off.
std::optional<int> take_prefix(std::string_view& text) {
  if (!text.starts_with(kPrefixStart)) return std::nullopt;
  const std::string_view after = text.substr(kPrefixStart.size());
  int rank = 0;
  const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), rank);
  const std::string_view rest = after.substr(static_cast<std::size_t>(end - after.data()));
  if (error != std::errc() || !rest.starts_with(kPrefixEnd)) return std::nullopt;
  text = rest.substr(kPrefixEnd.size());
  return rank;
}

}  // namespace

std::string to_text(const LineFaults& faults) {
  std::string text;
  for (const auto& [count, name] : std::initializer_list<std::pair<long, const char*>>{
           {faults.lost, "lost"},
           {faults.torn, "torn"},
           {faults.mixed, "mixed"},
           {faults.prefixed_twice, "prefixed twice"},
           {faults.repeated, "repeated"},
           {faults.out_of_order, "out of order"}}) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  }
  return text;
}

LineCheck::LineCheck(int workers, int lines) : workers_(static_cast<std::size_t>(workers)) {
  for (Worker& worker : workers_) {
    worker.seen.resize(static_cast<std::size_t>(lines));
  }
}

void LineCheck::add(std::string_view bytes) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    if (rest_.empty()) {
      add_line(bytes.substr(0, end));
    } else {
      add_line(std::exchange(rest_, {}).append(bytes.substr(0, end)));
    }
    bytes.remove_prefix(end + 1);
  }
  rest_ += bytes;
}

LineFaults LineCheck::finish() {
  if (!rest_.empty()) add_line(std::exchange(rest_, {}));
  LineFaults faults = faults_;
  for (const Worker& worker : workers_) {
    faults.lost += std::count(worker.seen.begin(), worker.seen.end(), false);
  }
  return faults;
}

void LineCheck::add_line(std::string_view line) {
  if (const std::optional<int> rank = take_prefix(line)) {
    add_text(*rank, line);
  } else {
    ++faults_.torn;
  }
}

void LineCheck::add_text(int prefix_rank, std::string_view text) {
  if (const auto start = text.find(kPrefixStart); start != std::string_view::npos) {
    std::string_view inner = text.substr(start);
    ++(take_prefix(inner) == prefix_rank ? faults_.prefixed_twice : faults_.mixed);
    return;
  }
  const std::optional<LogLine> line = decode(text);
  if (line && line->rank != prefix_rank) {
    ++faults_.mixed;
    return;
  }
  const auto rank = static_cast<std::size_t>(prefix_rank);
  if (!line || rank >= workers_.size()) {
    ++faults_.torn;
    return;
  }
  Worker& worker = workers_[rank];
  const auto number = static_cast<std::size_t>(line->number);
  if (number >= worker.seen.size()) {
    ++faults_.torn;
    return;
  }
  if (worker.seen[number]) {
    ++faults_.repeated;
  } else if (line->number < worker.next) {
    ++faults_.out_of_order;
  }
  worker.seen[number] = true;
  worker.next = std::max(worker.next, line->number + 1);
}

}  // namespace rankrun::bench
