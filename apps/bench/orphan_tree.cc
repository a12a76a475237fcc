// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/orphan_tree.h"

#include "store/base/unique_fd.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace rankrun::bench {

namespace {

constexpr std::array kKinds = {TreeKind::forks,
                               TreeKind::double_forks,
                               TreeKind::setsid,
                               TreeKind::ignores_term,
                               TreeKind::shell,
                               TreeKind::endless};
constexpr int kChildren = 3;  // of a tree that is not endless

[[noreturn]] void sleep_for_ever() {
  for (;;) {
    ::pause();
  }
}

[[noreturn]] void fork_for_ever() {
  for (;;) {
    const pid_t child = ::fork();
    if (child == 0) ::setsid();
    if (child < 0) ::usleep(1000);  // as many as there may be
  }
}

// In a child of the worker.
[[noreturn]] void become(TreeKind kind) {
  switch (kind) {
    case TreeKind::double_forks:
      if (::fork() != 0) ::_exit(0);
      break;
    case TreeKind::setsid:
      ::setsid();
      if (::fork() != 0) ::_exit(0);
      break;
    case TreeKind::ignores_term:
      ::signal(SIGTERM, SIG_IGN);
      ::signal(SIGHUP, SIG_IGN);
      break;
    case TreeKind::shell:
      ::execl("/bin/sh", "sh", "-c", "(sleep 1000 & sleep 1000) & wait", nullptr);
      break;
    case TreeKind::endless:
      fork_for_ever();
    case TreeKind::forks:
      break;
  }
  sleep_for_ever();
}

}  // namespace

std::span<const TreeKind> tree_kinds() {
  return kKinds;
}

std::string_view name(TreeKind kind) {
  switch (kind) {
    case TreeKind::forks:
      return "forks";
    case TreeKind::double_forks:
      return "double-forks";
    case TreeKind::setsid:
      return "setsid";
    case TreeKind::ignores_term:
      return "ignores-term";
    case TreeKind::shell:
      return "shell";
    case TreeKind::endless:
      break;
  }
  return "endless";
}

base::Result<void> run_orphan_tree(const OrphanTreeOptions& options) {
  // Not close-on-exec: what a shell starts is to hold it open, too.
  const base::UniqueFd fifo(::open(options.fifo.c_str(), O_WRONLY));
  const std::string line = std::to_string(::getpid()) + "\n";
  if (::write(fifo.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return base::errno_failure(errno, "cannot write to " + options.fifo);
  }
  if (options.kind == TreeKind::ignores_term) ::signal(SIGTERM, SIG_IGN);
  for (int i = 0; i < kChildren; ++i) {
    if (::fork() == 0) become(options.kind);
  }
  sleep_for_ever();
}

}  // namespace rankrun::bench
