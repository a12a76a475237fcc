// SPDX-License-Identifier: Apache-2.0
#include "store/server.h"

#include "store/base/endpoint.h"
#include "store/base/listen.h"
#include "store/base/thread.h"
#include "store/errc.h"
#include "store/server_loop.h"

#include <system_error>
#include <thread>
#include <utility>

namespace rankrun::store {

/// The loop and its thread.
class Server::Impl {
 public:
  Impl(const ServerOptions& options, Listener listener, Poller poller, base::Logger log)
      : loop_(options, std::move(listener), std::move(poller), std::move(log)) {}
  ~Impl() {
    if (thread_.joinable()) stop();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  base::Result<void> start();
  std::uint16_t port() const { return loop_.port(); }
  ServerReport stop();

 private:
  ServerLoop loop_;
  std::jthread thread_;
};

base::Result<void> Server::Impl::start() {
  if (auto listening = loop_.listen(); !listening) return listening;
  auto thread = base::start_thread("rankrun-store", [this] { loop_.run(); });
  if (!thread) return base::failure(std::move(thread.error()));
  thread_ = std::move(*thread);
  return {};
}

ServerReport Server::Impl::stop() {
  loop_.stop();
  thread_.join();
  return loop_.report();
}

base::Result<std::unique_ptr<Server>> Server::start(ServerOptions options, base::Logger log) {
  const base::Endpoint endpoint{options.address, options.port};
  const auto failed = [&](const std::error_code& code) {
    const std::string tried = "cannot serve the store on " + base::to_string(endpoint);
    const char* const address_remedy = "give the address itself, not a name";
    return base::failure(
        code, tried, code == errc::not_an_address ? address_remedy : base::remedy_for_server(code));
  };
  auto listener = Listener::open(endpoint);
  if (!listener) return failed(listener.error().code);
  auto poller = Poller::open();
  if (!poller) return failed(poller.error().code);
  auto impl =
      std::make_unique<Impl>(options, std::move(*listener), std::move(*poller), std::move(log));
  if (const auto started = impl->start(); !started) return failed(started.error().code);
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

std::uint16_t Server::port() const {
  return impl_->port();
}
ServerReport Server::stop() {
  return impl_->stop();
}

}  // namespace rankrun::store
