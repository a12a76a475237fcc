// SPDX-License-Identifier: Apache-2.0
// Starts, signals and reaps real processes.
#pragma once

#include "agent/process.h"

#include <boost/asio/any_io_executor.hpp>

namespace rankrun::agent {

/// Belongs to the loop of its executor. Construct and use it on a thread that lives as long as the
/// agent: the kernel ties the parent-death signal to the thread that starts a process.
class PosixProcessRunner final : public ProcessRunner {
 public:
  explicit PosixProcessRunner(boost::asio::any_io_executor executor);

  base::Result<std::unique_ptr<Process>> start(const ProcessSpec& spec) override;

 private:
  boost::asio::any_io_executor executor_;
};

}  // namespace rankrun::agent
