// SPDX-License-Identifier: Apache-2.0
#include "agent/hang_report.h"

#include "agent/rank_ranges.h"
#include "agent/text_limits.h"
#include "store/base/text.h"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <string_view>

namespace rankrun::agent {

namespace {

// More than StackDump keeps, with the line that says where it was cut.
constexpr std::size_t kMostStack = std::size_t{65} << 10;

std::string output_text(const HungWorker& worker) {
  if (!worker.since_output) return "none so far";
  const std::string age = seconds_text(*worker.since_output) + " ago";
  return worker.last_line.empty() ? age : age + ": " + base::escape_control(worker.last_line);
}

std::string heartbeat_text(const HungWorker& worker) {
  const auto& heartbeat = worker.silence.heartbeat;
  return heartbeat ? seconds_text(*heartbeat) + " ago" : "none so far";
}

}  // namespace

std::vector<int> ranks_of(const Hang& hang, int first_rank) {
  std::vector<int> ranks = hang.local_ranks;
  for (int& rank : ranks) {
    rank += first_rank;
  }
  return ranks;
}

std::string describe(const Hang& hang, int first_rank) {
  return fmt::format("{} {}: no progress for {}",
                     format_ranks(ranks_of(hang, first_rank)),
                     hang.local_ranks.size() == 1 ? "hangs" : "hang",
                     seconds_text(hang.silence));
}

std::string format_hung_worker(const HungWorker& worker) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out,
                 "rank {} (local rank {}, pid {}): {}, no progress for {}\n",
                 worker.rank,
                 worker.local_rank,
                 worker.pid,
                 worker.is_hung ? "hangs" : "waits or works",
                 seconds_text(worker.silence.heartbeat.value_or(worker.silence.any)));
  fmt::format_to(out, "  kernel    : {}\n", describe(worker.kernel));
  fmt::format_to(out, "  output    : {}\n", output_text(worker));
  fmt::format_to(out, "  heartbeat : {}\n", heartbeat_text(worker));
  fmt::format_to(out, "  stack     : {}\n", base::escape_control(worker.stack_source));
  for (const std::string& line : shown_lines(split_lines(worker.stack), kMostStack)) {
    fmt::format_to(out, "    {}\n", line);
  }
  return text;
}

std::string seconds_text(base::Duration duration) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(duration).count());
}

}  // namespace rankrun::agent
