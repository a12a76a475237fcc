// SPDX-License-Identifier: Apache-2.0
// Starts, signals and reaps real processes.
#pragma once

#include "agent/containment.h"
#include "agent/process.h"
#include "agent/terminal_loan.h"

#include <boost/asio/any_io_executor.hpp>

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>

namespace rankrun::agent {

class PosixProcess;

/// What the processes that were started share; belongs to their runner.
struct Children {
  std::map<pid_t, PosixProcess*> unreaped;
  std::optional<TerminalLoan> terminal;  ///< while one of them has it
};

/// Belongs to the loop of its executor, and outlives the processes it starts. Construct and use it
/// on a thread that lives as long as the agent: the kernel ties the parent-death signal to the
/// thread that starts a process.
class PosixProcessRunner final : public ProcessRunner {
 public:
  /// `containment` outlives it.
  PosixProcessRunner(boost::asio::any_io_executor executor, Containment& containment);
  ~PosixProcessRunner() override;
  PosixProcessRunner(const PosixProcessRunner&) = delete;
  PosixProcessRunner& operator=(const PosixProcessRunner&) = delete;

  base::Result<std::unique_ptr<Process>> start(const ProcessSpec& spec) override;
  boost::asio::awaitable<base::Result<void>> end_all(base::TimePoint deadline) override;

  /// To be called on SIGCHLD, where there is a process with Input::terminal or we are process 1 of
  /// a container: follows a stop of the first, and reaps orphans that the kernel gave to the
  /// second.
  void on_child_signal();

 private:
  boost::asio::any_io_executor executor_;
  Containment& containment_;
  std::optional<MemoryCgroup> memory_;  // of processes without one of their own
  Children children_;
  bool has_started_ = false;  // since the last end_all
};

}  // namespace rankrun::agent
