// SPDX-License-Identifier: Apache-2.0
// Pure: how a process ended.
#pragma once

#include <string>

namespace rankrun::agent {

/// How a process ended. "Exited with 9" and "killed by signal 9" stay different until the last line
/// of output.
class ExitStatus {
 public:
  static ExitStatus exited(int code) { return {Kind::exited, code, false}; }
  static ExitStatus signaled(int signal, bool core_dumped) {
    return {Kind::signaled, signal, core_dumped};
  }

  bool success() const { return kind_ == Kind::exited && value_ == 0; }
  bool was_signaled() const { return kind_ == Kind::signaled; }
  int code() const { return was_signaled() ? 0 : value_; }    ///< 0 when killed by a signal
  int signal() const { return was_signaled() ? value_ : 0; }  ///< 0 when it exited
  bool core_dumped() const { return core_dumped_; }

  bool operator==(const ExitStatus&) const = default;

 private:
  enum class Kind { exited, signaled };
  ExitStatus(Kind kind, int value, bool core_dumped)
      : kind_(kind), value_(value), core_dumped_(core_dumped) {}

  Kind kind_;
  int value_;
  bool core_dumped_;
};

/// "exited with 3", "was killed by SIGKILL", "was killed by SIGSEGV (core dumped)".
std::string describe(const ExitStatus& status);

/// The code as a shell gives it: that of the process, or 128 + the number of the signal.
int shell_code(const ExitStatus& status);

/// By the signal itself, or with the code by which a shell or a handler tells of it.
bool ended_by(const ExitStatus& status, int signal);

/// The code as torchrun gives it: that of the process, or the negated number of the signal.
int torchrun_code(const ExitStatus& status);

/// "SIGTERM"; "signal 64" for one without a name.
std::string signal_name(int signal);

}  // namespace rankrun::agent
