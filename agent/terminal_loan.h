// SPDX-License-Identifier: Apache-2.0
// The terminal on our stdin, lent to one worker as a shell lends it to a job: its keys, Ctrl-C and
// Ctrl-Z go to that worker's process group, so that a debugger works in it.
#pragma once

#include <sys/types.h>
#include <termios.h>

namespace rankrun::agent {

class TerminalLoan {
 public:
  /// Prepares the loan; until it ends, we may write to the terminal from the background.
  TerminalLoan();
  /// Takes the terminal back, with the settings it had.
  ~TerminalLoan();
  TerminalLoan(const TerminalLoan&) = delete;
  TerminalLoan& operator=(const TerminalLoan&) = delete;

  /// In the child, after fork: makes it the leader of a process group, and that the foreground one
  /// if ours was. Async-signal-safe.
  void take_over() const;

  /// In the parent, once the child has taken over.
  void set_borrower(pid_t group) { borrower_ = group; }
  pid_t borrower() const { return borrower_; }

  /// To be called on SIGCHLD. A borrower that was stopped (Ctrl-Z) stops us, too, so that our shell
  /// takes over; when the shell lets us go on, the borrower does.
  void follow_stop();

 private:
  pid_t borrower_ = 0;
  bool was_foreground_;
  termios settings_{};
  bool has_settings_;  // read into settings_, which comes first for that
};

}  // namespace rankrun::agent
