// SPDX-License-Identifier: Apache-2.0
#include "agent/terminal_loan.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace rankrun::agent {
namespace {

bool in_foreground() {
  return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

}  // namespace

TerminalLoan::TerminalLoan()
    : was_foreground_(in_foreground()), has_settings_(::tcgetattr(STDIN_FILENO, &settings_) == 0) {
  // Else the kernel would stop us for giving the terminal away while we are in the background.
  std::signal(SIGTTOU, SIG_IGN);
}

TerminalLoan::~TerminalLoan() {
  if (!was_foreground_ || ::tcgetpgrp(STDIN_FILENO) != borrower_) return;
  ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  if (has_settings_) ::tcsetattr(STDIN_FILENO, TCSANOW, &settings_);
}

void TerminalLoan::take_over() const {
  ::setpgid(0, 0);
  if (was_foreground_) ::tcsetpgrp(STDIN_FILENO, ::getpid());
}

void TerminalLoan::follow_stop() {
  siginfo_t info{};
  const auto id = static_cast<id_t>(borrower_);
  if (::waitid(P_PID, id, &info, WSTOPPED | WNOHANG) != 0 || info.si_pid == 0) return;
  // In the foreground ourselves: our shell gave us the terminal only after we had lent it.
  if (!in_foreground()) {
    if (::tcgetpgrp(STDIN_FILENO) == borrower_) ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
    ::kill(0, SIGTSTP);  // the whole pipeline we are in; we stop here, until SIGCONT
  }
  if (in_foreground()) {
    was_foreground_ = true;
    ::tcsetpgrp(STDIN_FILENO, borrower_);
  }
  ::kill(-borrower_, SIGCONT);
}

}  // namespace rankrun::agent
