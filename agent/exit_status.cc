// SPDX-License-Identifier: Apache-2.0
#include "agent/exit_status.h"

#include <fmt/format.h>

#include <cstring>

namespace rankrun::agent {
namespace {

constexpr int kSignalBase = 128;

}  // namespace

std::string describe(const ExitStatus& status) {
  if (!status.was_signaled()) return fmt::format("exited with {}", status.code());
  return fmt::format("was killed by {}{}",
                     signal_name(status.signal()),
                     status.core_dumped() ? " (core dumped)" : "");
}

int shell_code(const ExitStatus& status) {
  return status.was_signaled() ? kSignalBase + status.signal() : status.code();
}

bool ended_by(const ExitStatus& status, int signal) {
  return shell_code(status) == kSignalBase + signal;
}

int torchrun_code(const ExitStatus& status) {
  return status.was_signaled() ? -status.signal() : status.code();
}

std::string signal_name(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  if (abbreviation == nullptr) return fmt::format("signal {}", signal);
  return fmt::format("SIG{}", abbreviation);
}

}  // namespace rankrun::agent
