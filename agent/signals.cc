// SPDX-License-Identifier: Apache-2.0
#include "agent/signals.h"

#include "store/base/async.h"

#include <boost/asio/buffer.hpp>

#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

namespace rankrun::agent {

namespace asio = boost::asio;

bool is_stop_signal(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGHUP;
}

base::Result<std::unique_ptr<SignalSource>> SignalSource::open(
    const asio::any_io_executor& executor, const std::set<int>& signals) {
  sigset_t caught;
  sigemptyset(&caught);
  for (const int signal : signals) {
    sigaddset(&caught, signal);
  }
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler == SIG_IGN) sigdelset(&caught, SIGHUP);

  const int fd = ::signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) {
    return base::errno_failure(
        errno, "cannot listen for signals", "raise the limit of open files (ulimit -n)");
  }
  ::pthread_sigmask(SIG_BLOCK, &caught, nullptr);
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
