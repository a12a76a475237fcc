// SPDX-License-Identifier: Apache-2.0
// A process that has left its parent's session and carries a mark in its environment.
#pragma once

#include "agent/sweep.h"
#include "tests/support/pipe.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace rankrun::tests {

class MarkedProcess {
 public:
  /// Sleeps until it is killed, as user `uid`.
  explicit MarkedProcess(const std::string& mark, uid_t uid = ::getuid()) {
    std::string variable = std::string(agent::kMarkVariable) + '=' + mark;
    Pipe running;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setsid();
      if (uid != ::getuid() && ::setuid(uid) != 0) ::_exit(1);
      std::array<char*, 2> environment{variable.data(), nullptr};
      ::execle("/bin/sleep", "sleep", "1000", nullptr, environment.data());
      ::_exit(1);
    }
    running.write_end.reset();
    char none = 0;
    if (pid_ < 0 || ::read(running.read_end.get(), &none, 1) != 0) throw std::runtime_error("fork");
  }
  ~MarkedProcess() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  MarkedProcess(const MarkedProcess&) = delete;
  MarkedProcess& operator=(const MarkedProcess&) = delete;

  pid_t pid() const { return pid_; }

  /// Alive, and not as a zombie.
  bool is_alive() const { return has_ended(WNOHANG | WNOWAIT) == 0; }

  /// The signal that ended it; leaves a zombie.
  int wait() const { return has_ended(WNOWAIT); }

 private:
  // 0: it has not ended.
  int has_ended(int options) const {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | options);
    return info.si_pid == 0 ? 0 : info.si_status;
  }

  pid_t pid_ = 0;
};

}  // namespace rankrun::tests
