// SPDX-License-Identifier: Apache-2.0
#include "store/server_loop.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <span>
#include <string>
#include <utility>

namespace rankrun::store {
namespace {

constexpr std::uint64_t kListenerTag = kInterruptionTag + 1;
constexpr ConnectionId kFirstConnection = kListenerTag + 1;  // its id is the tag of a connection

constexpr std::size_t kChunkBytes = std::size_t{64} << 10;  // one turn's reading
// So that neither a storm of connections nor many releases keep the others waiting.
constexpr int kAcceptsPerTurn = 64;
constexpr std::size_t kDuePerTurn = 256;
/// How long accepting rests when descriptors or memory ran out; clients wait in the backlog.
constexpr auto kAcceptBackoff = std::chrono::milliseconds(50);
/// How long a request of PyTorch 2.1 may pause where one of 1.13 would be whole. They are sent in
/// one piece, unless a key has more than 1,400 bytes.
constexpr auto kDecisionLimit = std::chrono::milliseconds(10);

}  // namespace

ServerLoop::ServerLoop(const ServerOptions& options,
                       Listener listener,
                       Poller poller,
                       base::Logger log)
    : max_connections_(options.max_connections),
      log_(std::move(log)),
      listener_(std::move(listener)),
      poller_(std::move(poller)),
      last_id_(kFirstConnection - 1),
      chunk_(std::make_unique_for_overwrite<std::byte[]>(kChunkBytes)),
      lobby_(options.silence_limit),
      unread_(options.write_limit),
      undecided_(kDecisionLimit) {
  const bool legacy = options.legacy == LegacyClients::always || listener_.is_on_loopback();
  service_.legacy = legacy ? Legacy::accepted : Legacy::refused;
}

base::Result<void> ServerLoop::listen() {
  return poller_.add(listener_.fd(), kListenerTag, Interest::reading);
}

void ServerLoop::run() {
  while (!poller_.is_interrupted()) {
    const auto events = poller_.wait(next_deadline());
    const base::TimePoint now = base::Clock::now();
    for (const epoll_event& event : events) {
      const std::uint64_t tag = event.data.u64;
      if (tag == kListenerTag) accept_some(now);
      if (tag >= kFirstConnection) serve(tag, Cause::socket_is_ready, now);
    }
    do_due(now);
    expire(now);
  }
  listener_.close();
  for (auto& [id, connection] : connections_) {
    if (connection.session().requests() == 0) ++service_.report.silent;
  }
  connections_.clear();
}

ServerReport ServerLoop::report() const {
  ServerReport report = service_.report;
  report.keys_at_stop = service_.keys.size();
  if (const Value joined = service_.keys.find("init/")) {
    report.joined = static_cast<std::uint64_t>(parse_number(*joined).value_or(0));
  }
  return report;
}

std::optional<base::TimePoint> ServerLoop::next_deadline() const {
  if (!due_.empty()) return base::TimePoint();
  std::optional<base::TimePoint> first;
  for (const auto& next : {lobby_.next(), unread_.next(), undecided_.next(), accept_again_}) {
    if (next && (!first || *next < *first)) first = next;
  }
  return first;
}

void ServerLoop::do_due(base::TimePoint now) {
  for (std::size_t left = std::min(due_.size(), kDuePerTurn); left > 0; --left) {
    const ConnectionId id = due_.front();
    due_.pop_front();
    serve(id, Cause::more_to_do, now);
  }
}

void ServerLoop::expire(base::TimePoint now) {
  while (const auto silent = lobby_.overdue(now)) {
    close(*silent, errc::silent_too_long);
  }
  while (const auto lazy = unread_.overdue(now)) {
    close(*lazy, errc::peer_not_reading);
  }
  while (const auto undecided = undecided_.overdue(now)) {
    serve(*undecided, Cause::time_is_over, now);
  }
  if (accept_again_ && *accept_again_ <= now) {
    accept_again_.reset();
    poller_.change(listener_.fd(), kListenerTag, Interest::reading);
  }
}

/// Accepts what is there, up to a turn's worth.
void ServerLoop::accept_some(base::TimePoint now) {
  bool more = true;
  for (int i = 0; more && i < kAcceptsPerTurn; ++i) {
    try {
      more = accept_one(now);
    } catch (const std::exception& thrown) {
      log_->error("store: a connection was lost: {}", thrown.what());
    }
  }
}

/// False when there is no more to accept for now.
bool ServerLoop::accept_one(base::TimePoint now) {
  auto accepted = listener_.accept();
  if (!accepted) {
    const bool no_descriptor = accepted.error().code == std::errc::too_many_files_open;
    if (no_descriptor && make_room(now)) return true;
    rest_from_accepting(accepted.error(), now);
    return false;
  }
  told_of_rest_ = false;
  if (!*accepted) return false;
  admit(std::move(**accepted), now);
  return true;
}

void ServerLoop::admit(Accepted accepted, base::TimePoint now) {
  if (connections_.size() >= max_connections_ && !make_room(now)) {
    count_refusal(errc::too_many_connections);
    log_->debug("store: connection from {} refused: {}",
                base::to_string(accepted.peer),
                make_error_code(errc::too_many_connections).message());
    return;
  }
  const ConnectionId id = ++last_id_;
  const int fd = accepted.socket.get();
  Connection& connection =
      connections_.try_emplace(id, service_, id, std::move(accepted.socket), accepted.peer)
          .first->second;
  lobby_.enter(id, accepted.peer.host, now);
  connection.arranged.is_in_lobby = true;
  const auto added = poller_.add(fd, id, Interest::reading);
  if (!added) close(connections_.find(id), added.error().code);
}

/// Closes a connection that has said nothing.
bool ServerLoop::make_room(base::TimePoint now) {
  const auto first = lobby_.first_to_go(now);
  if (first) close(*first, errc::made_room);
  return first.has_value();
}

void ServerLoop::rest_from_accepting(const base::Error& error, base::TimePoint now) {
  if (!std::exchange(told_of_rest_, true)) {
    log_->warn("store: cannot accept connections for now: {}", error.message());
  }
  poller_.change(listener_.fd(), kListenerTag, Interest::nothing);
  accept_again_ = now + kAcceptBackoff;
}

void ServerLoop::serve(ConnectionId id, Cause cause, base::TimePoint now) {
  const auto entry = connections_.find(id);
  if (entry == connections_.end()) return;  // closed since
  std::error_code over;
  try {
    over = take_turn(entry->second, cause, now);
  } catch (const std::exception& thrown) {
    log_->error("store: a connection was lost: {}", thrown.what());
    over = std::make_error_code(std::errc::not_enough_memory);
  }
  if (over) close(entry, over);
}

std::error_code ServerLoop::take_turn(Connection& connection, Cause cause, base::TimePoint now) {
  const std::size_t unwritten_before = connection.session().output().bytes();
  const std::error_code over = move_bytes(connection, cause);
  wake_released();
  if (!over) arrange(connection, unwritten_before, now);
  return over;
}

std::error_code ServerLoop::move_bytes(Connection& connection, Cause cause) {
  const std::span<std::byte> chunk(chunk_.get(), kChunkBytes);
  Session& session = connection.session();
  if (cause == Cause::time_is_over) {
    // Bytes that have come by now count, even if there was no time to read them.
    const std::error_code over = connection.read_turn(chunk);
    return over || !session.undecided() ? over : connection.decide_turn();
  }
  if (!session.output().empty() || session.has_kept_input()) return connection.write_turn();
  if (cause == Cause::more_to_do) return {};  // was done since
  return connection.read_turn(chunk);
}

/// Those whom a turn released are told in turns of their own.
void ServerLoop::wake_released() {
  if (service_.released.empty()) return;
  for (const ConnectionId id : std::exchange(service_.released, {})) {
    const auto released = connections_.find(id);
    if (released == connections_.end()) continue;  // lost meanwhile, for want of memory
    released->second.session().release();
    due_.push_back(id);
  }
}

/// Sees to it that `connection` has its next turn when it needs one.
void ServerLoop::arrange(Connection& connection,
                         std::size_t unwritten_before,
                         base::TimePoint now) {
  arrange_lobby(connection);
  arrange_writing(connection, unwritten_before, now);
  arrange_decision(connection, now);
  Session& session = connection.session();
  if (session.has_kept_input() && session.output().empty()) due_.push_back(session.id());
}

void ServerLoop::arrange_lobby(Connection& connection) {
  const auto dialect = connection.session().dialect();
  if (!connection.arranged.is_in_lobby || !dialect) return;
  connection.arranged.is_in_lobby = false;
  if (*dialect == Dialect::legacy) {
    connection.arranged.is_counted_as_legacy = true;
    lobby_.legacy_client_came(connection.peer().host);
  }
  lobby_.leave(connection.session().id());
}

void ServerLoop::arrange_writing(Connection& connection, std::size_t before, base::TimePoint now) {
  const Session& session = connection.session();
  const std::size_t unwritten = session.output().bytes();
  bool& waits = connection.arranged.waits_to_write;
  if (unwritten > 0 && (!waits || unwritten < before)) unread_.start(session.id(), now);
  if (waits == (unwritten > 0)) return;
  waits = unwritten > 0;
  if (!waits) unread_.end(session.id());
  poller_.change(connection.fd(), session.id(), waits ? Interest::writing : Interest::reading);
}

void ServerLoop::arrange_decision(Connection& connection, base::TimePoint now) {
  const Session& session = connection.session();
  bool& waits = connection.arranged.waits_to_decide;
  if (waits == session.undecided()) return;
  waits = !waits;
  if (waits) {
    undecided_.start(session.id(), now);
  } else {
    undecided_.end(session.id());
  }
}

void ServerLoop::close(ConnectionId id, errc reason) {
  close(connections_.find(id), reason);
}

void ServerLoop::close(Connections::iterator entry, std::error_code reason) {
  auto& [id, connection] = *entry;
  const bool is_refused = reason.category() == store_category();
  if (is_refused) count_refusal(static_cast<errc>(reason.value()));
  if (!is_refused && connection.session().requests() == 0) ++service_.report.silent;
  if (log_->should_log(spdlog::level::debug)) {
    log_->debug("store: connection {} from {} {}: {}",
                id,
                base::to_string(connection.peer()),
                is_refused ? "refused" : "ended",
                reason.message());
  }
  const Connection::Arranged& arranged = connection.arranged;
  if (arranged.is_in_lobby) lobby_.leave(id);
  if (arranged.is_counted_as_legacy) lobby_.legacy_client_left(connection.peer().host);
  if (arranged.waits_to_write) unread_.end(id);
  if (arranged.waits_to_decide) undecided_.end(id);
  connections_.erase(entry);
}

void ServerLoop::count_refusal(errc reason) {
  ++service_.report.refused;
  ++service_.report.refused_by_reason[reason];
}

}  // namespace rankrun::store
