// SPDX-License-Identifier: Apache-2.0
#include "agent/signals.h"

#include "store/base/async.h"

#include <boost/asio/buffer.hpp>

#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

namespace rankrun::agent {

namespace asio = boost::asio;

base::Result<std::unique_ptr<SignalSource>> SignalSource::open(
    const asio::any_io_executor& executor) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT}) {
    sigaddset(&signals, signal);
  }
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);

  const int fd = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) {
    return base::errno_failure(
        errno, "cannot listen for signals", "raise the limit of open files (ulimit -n)");
  }
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return std::make_unique<SignalSource>(executor, fd);
}

SignalSource::SignalSource(const asio::any_io_executor& executor, int fd) : fd_(executor, fd) {}

asio::awaitable<int> SignalSource::next() {
  signalfd_siginfo info{};
  const auto [error, size] =
      co_await fd_.async_read_some(asio::buffer(&info, sizeof info), base::kUseTuple);
  co_return error ? 0 : static_cast<int>(info.ssi_signo);
}

}  // namespace rankrun::agent
