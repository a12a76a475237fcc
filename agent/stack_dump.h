// SPDX-License-Identifier: Apache-2.0
// The stacks of a process, as py-spy or gdb print them where they are installed.
#pragma once

#include "agent/config.h"
#include "agent/process.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::agent {

/// Pure but for the look into PATH: the command that prints the stacks of process `pid`, which runs
/// the program `executable`; empty when there is no tool for it.
std::vector<std::string> stack_command(pid_t pid,
                                       std::string_view executable,
                                       const Environment& environment);

/// A tool that runs. Belongs to the agent's loop. Destroyed before its end, it is killed; the
/// process that it has looked at goes on then.
class StackDump {
 public:
  static base::Result<StackDump> start(const boost::asio::any_io_executor& executor,
                                       ProcessRunner& runner,
                                       const std::vector<std::string>& command,
                                       const Environment& environment);

  /// What it prints until it ends, or is killed at the deadline or after kMostBytes; a last line
  /// says so then.
  boost::asio::awaitable<std::string> text(base::TimePoint deadline);

  static constexpr std::size_t kMostBytes = std::size_t{64} << 10;

 private:
  enum class Read { some, nothing_yet, end };

  StackDump(std::unique_ptr<Process> process, boost::asio::posix::stream_descriptor output)
      : process_(std::move(process)), output_(std::move(output)) {}

  Read read_some();

  std::unique_ptr<Process> process_;
  boost::asio::posix::stream_descriptor output_;
  std::string text_;
};

}  // namespace rankrun::agent
