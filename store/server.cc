// SPDX-License-Identifier: Apache-2.0
#include "store/server.h"

#include "store/base/async.h"
#include "store/base/endpoint.h"
#include "store/base/listen.h"
#include "store/base/task_group.h"
#include "store/base/thread.h"
#include "store/base/unique_fd.h"
#include "store/session.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <exception>
#include <thread>
#include <utility>

namespace rankrun::store {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr int kAcceptsPerTurn =
    64;  // so that a storm of connections does not keep sessions waiting
/// How long accepting rests when descriptors or memory ran out; clients wait in the backlog.
constexpr auto kAcceptBackoff = std::chrono::milliseconds(50);

Legacy legacy_at(const asio::ip::address& address, LegacyClients clients) {
  return clients == LegacyClients::always || address.is_loopback() ? Legacy::accepted
                                                                   : Legacy::refused;
}

}  // namespace

/// The thread, its loop, the listener and the sessions. Everything but the constructor and stop()
/// runs on that thread.
class Server::Impl {
 public:
  Impl(const ServerOptions& options, const asio::ip::address& address, base::Logger log);
  // Stopping throws only when memory runs out, and then there is nothing left to do but end.
  ~Impl() {  // NOLINT(bugprone-exception-escape)
    if (thread_.joinable()) stop();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Binds, listens and starts the thread; the error has no context.
  base::Result<void> open(const tcp::endpoint& endpoint);
  std::uint16_t port() const { return port_; }
  ServerReport stop();

 private:
  base::Result<void> start_thread();
  void close();
  asio::awaitable<void> accept_all();
  asio::awaitable<void> serve(tcp::socket socket, tcp::endpoint peer);
  std::error_code accept_some();
  void admit(base::UniqueFd connection, const tcp::endpoint& peer);

  const std::size_t max_connections_;
  std::uint16_t port_ = 0;  // set before the thread starts
  asio::io_context loop_{1};
  tcp::acceptor acceptor_{loop_};
  Service service_;
  base::TaskGroup tasks_;
  std::jthread thread_;
};

Server::Impl::Impl(const ServerOptions& options, const asio::ip::address& address, base::Logger log)
    : max_connections_(options.max_connections),
      service_(legacy_at(address, options.legacy), options.write_limit, log),
      tasks_(loop_.get_executor(), [log](const std::exception_ptr& thrown) {
        log->error("store: a connection was lost: {}", base::error_of(thrown).message());
      }) {}

base::Result<void> Server::Impl::open(const tcp::endpoint& endpoint) {
  auto listener = base::listen_on(endpoint, base::IpVersions::own);
  if (!listener) return base::failure(listener.error());
  boost::system::error_code error;
  acceptor_.assign(endpoint.protocol(), listener->get(), error);
  if (error) return base::failure(error, {});
  listener->release();
  port_ = acceptor_.local_endpoint().port();
  tasks_.spawn(accept_all());
  return start_thread();
}

base::Result<void> Server::Impl::start_thread() {
  auto thread = base::start_thread("rankrun-store", [this] { loop_.run(); });
  if (!thread) {
    close();
    loop_.run();  // here instead, only to end what was to run there
    return base::failure(std::move(thread.error()));
  }
  thread_ = std::move(*thread);
  return {};
}

void Server::Impl::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  tasks_.stop();
}

ServerReport Server::Impl::stop() {
  asio::post(loop_, [this] { close(); });
  thread_.join();  // the loop runs out of work when its last task has ended
  ServerReport& report = service_.report;
  report.keys_at_stop = service_.keys.size();
  if (const Value joined = service_.keys.find("init/")) {
    report.joined = static_cast<std::uint64_t>(parse_number(*joined).value_or(0));
  }
  return report;
}

asio::awaitable<void> Server::Impl::accept_all() {
  asio::steady_timer pause(loop_);
  bool told = false;  // that accepting rests; once until it works again
  for (;;) {
    const auto [closed] = co_await acceptor_.async_wait(tcp::acceptor::wait_read, base::kUseTuple);
    if (closed) co_return;  // by stop()
    const std::error_code exhausted = accept_some();
    if (exhausted && !told) {
      service_.log->warn("store: cannot accept connections for now: {}", exhausted.message());
    }
    told = static_cast<bool>(exhausted);
    if (!exhausted) continue;
    pause.expires_after(kAcceptBackoff);
    co_await pause.async_wait(base::kUseTuple);
  }
}

/// Accepts what is there, up to a turn's worth. An error is one that the next try would meet again.
std::error_code Server::Impl::accept_some() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    tcp::endpoint peer;
    auto size = static_cast<socklen_t>(peer.capacity());
    base::UniqueFd connection(
        ::accept4(acceptor_.native_handle(), peer.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection) {
      peer.resize(size);
      admit(std::move(connection), peer);
    } else if (errno == EAGAIN) {
      return {};
    } else if (errno != EINTR && errno != ECONNABORTED && errno != EPROTO && errno != EPERM) {
      return {errno, std::generic_category()};
    }
  }
  return {};
}

void Server::Impl::admit(base::UniqueFd connection, const tcp::endpoint& peer) {
  if (tasks_.size() > max_connections_) {  // one of the tasks is accept_all
    ++service_.report.refused;
    service_.log->debug("store: connection refused: {}",
                        make_error_code(errc::too_many_connections).message());
    return;
  }
  boost::system::error_code error;
  tcp::socket socket(loop_);
  socket.assign(peer.protocol(), connection.get(), error);
  if (error) {
    service_.log->warn("store: connection lost: {}", error.message());
    return;
  }
  connection.release();
  socket.non_blocking(true, error);
  tasks_.spawn(serve(std::move(socket), peer));
}

asio::awaitable<void> Server::Impl::serve(tcp::socket socket, tcp::endpoint peer) {
  Session session(service_, std::move(socket), peer);
  co_await session.run();
}

base::Result<std::unique_ptr<Server>> Server::start(ServerOptions options, base::Logger log) {
  const std::string tried =
      "cannot serve the store on " + base::to_string({options.address, options.port});
  boost::system::error_code bad;
  const auto address = asio::ip::make_address(options.address, bad);
  if (bad) {
    return base::failure(errc::not_an_address, tried, "give the address itself, not a name");
  }
  std::error_code error;
  try {
    auto impl = std::make_unique<Impl>(options, address, std::move(log));
    const auto opened = impl->open(tcp::endpoint(address, options.port));
    if (opened) return std::unique_ptr<Server>(new Server(std::move(impl)));
    error = opened.error().code;
  } catch (const boost::system::system_error& refused) {  // by the loop, for want of descriptors
    error = refused.code();
  }
  return base::failure(error, tried, base::remedy_for_server(error));
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
