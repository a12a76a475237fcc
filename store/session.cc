// SPDX-License-Identifier: Apache-2.0
#include "store/session.h"

#include "store/base/async.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include <array>
#include <sstream>
#include <string_view>
#include <utility>

namespace rankrun::store {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t kChunkBytes = std::size_t{64} << 10;  // one turn's reading
// A turn ends early when its replies reach either.
constexpr std::size_t kMaxOutputBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxOutputPieces = 1024;
constexpr std::size_t kPiecesPerWrite = 64;  // Asio gathers no more in one call

bool would_block(const boost::system::error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again;
}

}  // namespace

Service::Service(Legacy legacy_clients, base::Duration limit, base::Logger logger)
    : legacy(legacy_clients), write_limit(limit), log(std::move(logger)), chunk(kChunkBytes) {}

Session::Session(Service& service, tcp::socket socket, const tcp::endpoint& peer)
    : service_(service),
      id_(++service.last_id),
      peer_(peer),
      socket_(std::move(socket)),
      decoder_(service.legacy) {
  service_.sessions.emplace(id_, this);
}

Session::~Session() {
  service_.sessions.erase(id_);
  service_.keys.drop(id_);
  if (decoder_.requests() == 0 && !refused_) ++service_.report.silent;
}

asio::awaitable<void> Session::run() {
  const std::error_code reason = co_await serve();
  const std::error_code stopped = boost::system::error_code(asio::error::operation_aborted);
  if (reason != stopped) report(reason);
}

asio::awaitable<std::error_code> Session::serve() {
  for (;;) {
    if (output_.empty() && held_.empty()) {
      co_await readable();
    } else if (const auto error = co_await writable()) {
      co_return error;
    }
    if (const auto error = take_turn()) co_return error;
  }
}

asio::awaitable<std::error_code> Session::writable() {
  const auto result = co_await base::with_timeout(
      socket_.async_wait(tcp::socket::wait_write, base::kUseTuple), service_.write_limit);
  if (!result) co_return errc::peer_not_reading;
  const auto [error] = *result;
  co_return error;
}

/// Returns early, with output to write, when it is woken by release().
asio::awaitable<void> Session::readable() {
  awaits_input_ = true;
  // An error shows in the read or write that follows, so it is not looked at here.
  co_await socket_.async_wait(tcp::socket::wait_read, base::kUseTuple);
  awaits_input_ = false;
}

void Session::release() {
  encode(Flag{0}, output_);
  boost::system::error_code ignored;
  if (awaits_input_) socket_.cancel(ignored);
}

std::error_code Session::take_turn() {
  if (!output_.empty()) return flush();
  if (!held_.empty()) {
    const std::vector<std::byte> input = std::exchange(held_, {});
    return process(input);
  }
  boost::system::error_code error;
  const std::size_t count = socket_.read_some(asio::buffer(service_.chunk), error);
  if (would_block(error)) return {};
  if (error) return error;
  return process(std::span(service_.chunk).first(count));
}

std::error_code Session::process(std::span<const std::byte> input) {
  const std::uint64_t requests_before = decoder_.requests();
  std::error_code error;
  while (!error && !input.empty() && !output_full()) {
    auto command = decoder_.next(input);
    if (!command) {
      error = command.error();
    } else if (*command) {
      error = apply(std::move(**command));
    }
  }
  count(requests_before);
  if (!error) held_.assign(input.begin(), input.end());
  for (const ConnectionId id : std::exchange(released_, {})) {
    service_.sessions.at(id)->release();
  }
  const std::error_code write_error = flush();  // requests before a bad one are answered
  return error ? error : write_error;
}

std::error_code Session::apply(Command command) {
  if (!std::exchange(service_.asked, true)) {
    service_.report.keys_at_first_request = service_.keys.size();
  }
  auto outcome = service_.keys.apply(id_, std::move(command));
  if (!outcome) return outcome.error();
  encode(outcome->reply, output_);
  released_.insert(released_.end(), outcome->released.begin(), outcome->released.end());
  return {};
}

/// Writes once, as much as the kernel takes without waiting.
std::error_code Session::flush() {
  if (output_.empty()) return {};
  std::array<std::string_view, kPiecesPerWrite> views;
  std::array<asio::const_buffer, kPiecesPerWrite> buffers;
  const std::size_t count = output_.gather(views);
  for (std::size_t i = 0; i < count; ++i) {
    buffers[i] = asio::buffer(views[i]);
  }
  boost::system::error_code error;
  const std::size_t written = socket_.write_some(std::span(buffers).first(count), error);
  output_.consume(written);
  if (would_block(error)) return {};
  return error;
}

void Session::count(std::uint64_t requests_before) {
  ServerReport& report = service_.report;
  const std::uint64_t requests = decoder_.requests();
  if (requests_before == 0 && requests > 0) {
    ++(decoder_.dialect() == Dialect::modern ? report.modern_clients : report.legacy_clients);
  }
  report.requests += requests - requests_before;
}

void Session::report(std::error_code reason) {
  const bool closed_by_peer = reason.category() != store_category();
  refused_ = !closed_by_peer;
  if (refused_) ++service_.report.refused;
  if (!service_.log->should_log(spdlog::level::debug)) return;
  std::ostringstream peer;
  peer << peer_;
  service_.log->debug("store: connection {} from {} {}: {}",
                      id_,
                      peer.str(),
                      closed_by_peer ? "ended" : "refused",
                      reason.message());
}

bool Session::output_full() const {
  return output_.bytes() >= kMaxOutputBytes || output_.pieces() >= kMaxOutputPieces;
}

}  // namespace rankrun::store
