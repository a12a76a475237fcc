// SPDX-License-Identifier: Apache-2.0
// Processes that exist only in memory: a test decides when and how each one ends.
#pragma once

#include "agent/process.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rankrun::tests {

/// What happened to one fake process; outlives it.
struct FakeRecord {
  agent::ProcessSpec spec;
  std::vector<int> signals;  ///< sent to its group, in order
  std::optional<agent::ExitStatus> status;
  std::optional<agent::OutOfMemory> memory_kill;
  bool group_ended = false;
  std::unique_ptr<boost::asio::steady_timer> exited;

  /// The process ends now.
  void exit(agent::ExitStatus how);
};

/// Starts fake processes; the i-th start ever made is records[i]. Belongs to one loop.
class FakeRunner final : public agent::ProcessRunner {
 public:
  explicit FakeRunner(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  base::Result<std::unique_ptr<agent::Process>> start(const agent::ProcessSpec& spec) override;
  boost::asio::awaitable<base::Result<void>> end_all(base::TimePoint deadline) override;

  /// How processes react to a signal: absent, they ignore it. SIGKILL always ends one.
  std::map<int, agent::ExitStatus> reactions;
  /// The start with this index fails with this error.
  std::optional<std::size_t> failing_start;
  base::Error start_error;
  /// end_all() fails with this, as for a process that SIGKILL does not end.
  std::optional<base::Error> stuck;

  std::vector<std::shared_ptr<FakeRecord>> records;

 private:
  boost::asio::any_io_executor executor_;
};

}  // namespace rankrun::tests
