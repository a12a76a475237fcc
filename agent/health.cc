// SPDX-License-Identifier: Apache-2.0
#include "agent/health.h"

#include "store/base/async.h"
#include "store/base/listen.h"
#include "store/base/task_group.h"
#include "store/base/thread.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/none.hpp>

#include <exception>
#include <iterator>
#include <list>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace rankrun::agent {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using base::Clock;
using base::Result;

namespace {

constexpr std::size_t kLongestHeader = std::size_t{8} << 10;
constexpr base::Duration kIdleLimit = std::chrono::minutes(1);
// How long accepting rests when descriptors or memory ran out.
constexpr auto kAcceptBackoff = std::chrono::milliseconds(50);

using RequestParser = http::request_parser<http::empty_body>;
using Response = http::response<http::string_body>;

Response response_to(const RequestParser::value_type& request, HealthAnswer answer) {
  Response response(http::int_to_status(answer.status), request.version());
  response.set(http::field::content_type, "application/json");
  response.set(http::field::cache_control, "no-store");
  if (!answer.allow.empty()) response.set(http::field::allow, answer.allow);
  response.content_length(answer.body.size());
  if (request.method() != http::verb::head) response.body() = std::move(answer.body);
  return response;
}

bool has_body(const RequestParser& parser) {
  return parser.chunked() || parser.content_length().value_or(0) > 0;
}

}  // namespace

/// The thread, its loop, the listener and the connections. All but constructor, open() and
/// destructor run on that thread.
class HealthServer::Impl {
 public:
  Impl(HealthOptions options, asio::any_io_executor agent, Facts facts, const base::Logger& log)
      : options_(std::move(options)),
        agent_(std::move(agent)),
        facts_(std::make_shared<const Facts>(std::move(facts))),
        tasks_(loop_.get_executor(), [log](const std::exception_ptr& thrown) {
          log->error("health: a connection was lost: {}", base::error_of(thrown).message());
        }) {}
  // Stopping throws only when memory runs out, and then there is nothing left to do but end.
  ~Impl() {  // NOLINT(bugprone-exception-escape)
    if (!thread_.joinable()) return;
    asio::post(loop_, [this] { close(); });
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Binds and starts the thread; the error has no context.
  Result<void> open(const tcp::endpoint& endpoint, base::IpVersions versions);
  base::Endpoint endpoint() const { return bound_; }

 private:
  // An idle one waits for its next request.
  struct Connection {
    tcp::socket socket;
    std::optional<base::TimePoint> idle_since;
  };

  void close();
  asio::awaitable<void> accept_all();
  void admit(tcp::socket socket);
  bool make_room();
  asio::awaitable<void> serve(std::list<Connection>::iterator connection);
  asio::awaitable<void> answer_all(Connection& connection);
  asio::awaitable<HealthAnswer> answer(const RequestParser::value_type& request);
  void ask_agent();
  void on_answer(HealthFacts facts);

  const HealthOptions options_;
  base::Endpoint bound_;  // set before the thread starts
  asio::any_io_executor agent_;
  // Shared to be watched: a question that the agent's loop comes to after our end finds it gone.
  std::shared_ptr<const Facts> facts_;
  asio::io_context loop_{1};
  tcp::acceptor acceptor_{loop_};
  std::list<Connection> connections_;

  // One question at a time: a loop that is stuck for long does not find thousands of them.
  std::optional<base::TimePoint> asked_at_;                                    // not answered yet
  asio::steady_timer answered_{loop_.get_executor(), base::TimePoint::max()};  // cancelled then
  HealthFacts last_answer_;

  base::TaskGroup tasks_;
  std::jthread thread_;
};

Result<void> HealthServer::Impl::open(const tcp::endpoint& endpoint, base::IpVersions versions) {
  auto listener =
      base::listen_on(endpoint.data(), static_cast<socklen_t>(endpoint.size()), versions);
  if (!listener) return base::failure(std::move(listener.error()));
  acceptor_.assign(endpoint.protocol(), listener->release());
  const tcp::endpoint bound = acceptor_.local_endpoint();
  bound_ = {bound.address().to_string(), bound.port()};
  tasks_.spawn(accept_all());
  auto thread = base::start_thread("rankrun-health", [this] { loop_.run(); });
  if (!thread) {
    close();
    loop_.run();  // here instead, only to end what was to run there
    return base::failure(std::move(thread.error()));
  }
  thread_ = std::move(*thread);
  return {};
}

void HealthServer::Impl::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  tasks_.stop();
}

asio::awaitable<void> HealthServer::Impl::accept_all() {
  asio::steady_timer pause(loop_);
  while (acceptor_.is_open()) {
    auto [error, socket] = co_await acceptor_.async_accept(base::kUseTuple);
    if (!error) {
      admit(std::move(socket));
    } else if (error != asio::error::connection_aborted) {
      pause.expires_after(kAcceptBackoff);
      co_await pause.async_wait(base::kUseTuple);
    }
  }
}

void HealthServer::Impl::admit(tcp::socket socket) {
  if (connections_.size() >= options_.max_connections && !make_room()) return;
  connections_.push_back(Connection{std::move(socket), Clock::now()});
  tasks_.spawn(serve(std::prev(connections_.end())));
}

// Closes the connection that has been idle longest; false when all are busy, which takes seconds.
bool HealthServer::Impl::make_room() {
  boost::system::error_code ignored;
  const auto is_idle = [&ignored](const Connection& connection) {
    return connection.idle_since && connection.socket.available(ignored) == 0;
  };
  auto oldest = connections_.end();
  for (auto at = connections_.begin(); at != connections_.end(); ++at) {
    if (!is_idle(*at)) continue;
    if (oldest == connections_.end() || *at->idle_since < *oldest->idle_since) oldest = at;
  }
  if (oldest == connections_.end()) return false;
  oldest->idle_since.reset();
  oldest->socket.close(ignored);
  return true;
}

asio::awaitable<void> HealthServer::Impl::serve(std::list<Connection>::iterator connection) {
  struct Removal {
    std::list<Connection>& connections;
    std::list<Connection>::iterator connection;
    ~Removal() { connections.erase(connection); }
  };
  const Removal removal{connections_, connection};
  co_await answer_all(*connection);
}

asio::awaitable<void> HealthServer::Impl::answer_all(Connection& connection) {
  tcp::socket& socket = connection.socket;
  boost::beast::flat_buffer buffer(2 * kLongestHeader);
  for (bool keeps_open = true; keeps_open;) {
    if (buffer.size() == 0) {
      connection.idle_since = Clock::now();
      const auto begun = co_await base::with_timeout(
          socket.async_wait(tcp::socket::wait_read, base::kUseTuple), kIdleLimit);
      if (!begun || std::get<0>(*begun)) co_return;
      connection.idle_since.reset();
    }
    RequestParser parser;
    parser.header_limit(kLongestHeader);
    parser.body_limit(boost::none);  // it is not read
    const auto read = co_await base::with_timeout(
        http::async_read_header(socket, buffer, parser, base::kUseTuple), options_.transfer_limit);
    if (!read || std::get<0>(*read)) co_return;  // slow, too long, no HTTP, or the end

    Response response = response_to(parser.get(), co_await answer(parser.get()));
    keeps_open = parser.keep_alive() && !has_body(parser);  // bodies are not read
    response.keep_alive(keeps_open);
    const auto written = co_await base::with_timeout(
        http::async_write(socket, response, base::kUseTuple), options_.transfer_limit);
    if (!written || std::get<0>(*written)) co_return;
  }
}

asio::awaitable<HealthAnswer> HealthServer::Impl::answer(const RequestParser::value_type& request) {
  auto refused = refuse_request(request.method_string(), request.target());
  if (refused) co_return std::move(*refused);
  ask_agent();
  const base::Duration left = *asked_at_ + options_.answer_limit - Clock::now();
  const auto answered = co_await base::with_timeout(answered_.async_wait(base::kUseTuple),
                                                    std::max(left, base::Duration::zero()));
  if (answered || !asked_at_) co_return healthy(last_answer_);
  co_return stuck(options_.run_id, Clock::now() - *asked_at_);
}

void HealthServer::Impl::ask_agent() {
  if (asked_at_) return;
  asked_at_ = Clock::now();
  asio::post(agent_, [this, watched = std::weak_ptr(facts_)] {
    const auto facts = watched.lock();
    if (!facts) return;
    asio::post(loop_, [this, answer = (*facts)()] { on_answer(answer); });
  });
}

void HealthServer::Impl::on_answer(HealthFacts facts) {
  last_answer_ = std::move(facts);
  asked_at_.reset();
  answered_.cancel();
}

Result<std::unique_ptr<HealthServer>> HealthServer::start(HealthOptions options,
                                                          asio::any_io_executor agent,
                                                          Facts facts,
                                                          base::Logger log) {
  const base::Endpoint asked = options.endpoint;
  const bool everywhere = asked.host.empty();
  const std::string tried =
      "no health check on " + base::to_string({everywhere ? "::" : asked.host, asked.port});
  boost::system::error_code bad;
  const auto address = asio::ip::make_address(everywhere ? "::" : asked.host, bad);
  if (bad) return base::failure(base::errc::invalid_value, tried, "give an address, not a name");
  std::error_code error;
  try {
    auto impl = std::make_unique<Impl>(std::move(options), std::move(agent), std::move(facts), log);
    const auto versions = everywhere ? base::IpVersions::both : base::IpVersions::own;
    auto opened = impl->open(tcp::endpoint(address, asked.port), versions);
    if (!opened && everywhere && opened.error().code == std::errc::address_family_not_supported) {
      opened = impl->open(tcp::endpoint(tcp::v4(), asked.port), base::IpVersions::own);
    }
    if (opened) return std::unique_ptr<HealthServer>(new HealthServer(std::move(impl)));
    error = opened.error().code;
  } catch (const boost::system::system_error& refused) {  // by the loop, for want of descriptors
    error = refused.code();
  }
  return base::failure(error, tried, base::remedy_for_server(error));
}

HealthServer::HealthServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HealthServer::~HealthServer() = default;

base::Endpoint HealthServer::endpoint() const {
  return impl_->endpoint();
}

}  // namespace rankrun::agent
