// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/store_loads.h"

#include "apps/bench/parts.h"
#include "apps/bench/store_clients.h"
#include "apps/bench/store_wire.h"
#include "apps/bench/wait.h"

#include <fmt/format.h>

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

namespace rankrun::bench {

using base::Clock;
using base::Duration;
using base::failure;
using base::Result;
using base::TimePoint;

namespace {

constexpr Duration kLimit = std::chrono::seconds(120);  // for a server that takes minutes
constexpr std::string_view kValue = "0123456789abcdef";
constexpr std::size_t kReplyBytes = wire::kCountBytes + kValue.size();
constexpr std::size_t kControl = 0;  // the client that prepares a load and starts it

/// Wall and CPU time from its construction on.
class Meter {
 public:
  explicit Meter(const StoreServer& server)
      : server_(server), cpu_(server.cpu()), wall_(Clock::now()) {}

  LoadFigures per(double operations) const {
    LoadFigures figures;
    figures.wall_us = microseconds(Clock::now() - wall_) / operations;
    figures.cpu_us = microseconds(server_.cpu() - cpu_) / operations;
    return figures;
  }

 private:
  const StoreServer& server_;
  Duration cpu_;
  TimePoint wall_;
};

Result<StoreClients> connected(const StoreServer& server, std::size_t count) {
  auto clients = StoreClients::open();
  if (!clients) return clients;
  auto done = clients->connect(server.port(), count);
  if (!done) return failure(std::move(done.error()));
  return clients;
}

std::string key_of(std::size_t client) {
  return fmt::format("/benchmark/key{:05}", client);
}

/// No key of an earlier round begins so.
std::string fresh_prefix() {
  return fmt::format("/benchmark/{}", Clock::now().time_since_epoch().count());
}

std::vector<std::string> fresh_keys(std::size_t count) {
  const std::string prefix = fresh_prefix();
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(fmt::format("{}/{}", prefix, i));
  }
  return keys;
}

/// Each client's key has a value.
Result<void> store_values(StoreClients& clients, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto done = clients.send(kControl, wire::set(key_of(i), kValue));
    if (!done) return done;
  }
  return clients.round_trip(kControl);
}

/// Clients that all connect at once, each in its own steps.
class Storm {
 public:
  Storm(StoreClients& sockets, std::size_t clients)
      : sockets_(sockets), steps_(clients, Step::connecting), left_(clients) {}

  Result<void> run(std::uint16_t port) {
    const TimePoint deadline = Clock::now() + kLimit;
    while (left_ > 0) {
      if (auto started = start_some(port); !started) return started;
      const auto ready = sockets_.wait(deadline);
      if (!ready) return failure(ready.error());
      for (const std::size_t client : *ready) {
        if (steps_[client] != Step::done && !advance(client)) lose(client);
      }
    }
    return {};
  }

  std::size_t lost() const { return lost_; }

 private:
  enum class Step { connecting, pinged, added, done };

  Result<void> start_some(std::uint16_t port) {
    constexpr std::size_t kAtOnce = 16;  // then those that are ready have their turn
    for (std::size_t i = 0; i < kAtOnce && sockets_.size() < steps_.size(); ++i) {
      const auto client = sockets_.start_connecting(port);
      if (!client) return failure(client.error());
      sockets_.watch_room(*client, true);
    }
    return {};
  }

  Result<void> advance(std::size_t client) {
    Step& step = steps_[client];
    if (step == Step::connecting) {
      step = Step::pinged;
      sockets_.watch_room(client, false);
      auto sent = sockets_.send(client, wire::handshake());
      return sent ? sockets_.send(client, wire::ping()) : sent;
    }
    const auto bytes = sockets_.receive(client);
    if (!bytes) return failure(bytes.error());
    if (bytes->empty()) return {};
    step = step == Step::pinged ? Step::added : Step::done;
    if (step == Step::added) return sockets_.send(client, wire::add("init/", 1));
    --left_;
    return {};
  }

  /// It was refused or reset.
  void lose(std::size_t client) {
    steps_[client] = Step::done;
    sockets_.forget(client);
    ++lost_;
    --left_;
  }

  StoreClients& sockets_;  // outlives it
  std::vector<Step> steps_;
  std::size_t left_;
  std::size_t lost_ = 0;
};

/// Clients that send their next requests when the replies to the last are there.
class ClosedLoop {
 public:
  ClosedLoop(StoreClients& sockets, const LoopLoad& load)
      : sockets_(sockets), depth_(load.depth), end_(Clock::now() + load.duration) {
    for (std::size_t client = 0; client < load.clients; ++client) {
      std::string& requests = batches_.emplace_back().requests;
      for (std::size_t i = 0; i < depth_; ++i) {
        requests += wire::get(key_of(client));
      }
    }
  }

  Result<void> run() {
    for (std::size_t client = 0; client < batches_.size(); ++client) {
      if (auto sent = send(client, Clock::now()); !sent) return sent;
    }
    return sockets_.run_until(
        batches_.size(), end_ + kLimit, [this](std::size_t client) { return on_ready(client); });
  }

  /// How long each batch took.
  Samples take_samples() { return std::move(samples_); }
  double operations() const { return static_cast<double>(samples_.size() * depth_); }

 private:
  struct Batch {
    std::string requests;
    std::size_t missing = 0;  // bytes of its replies
    TimePoint sent;
  };

  Result<void> send(std::size_t client, TimePoint now) {
    Batch& batch = batches_[client];
    batch.sent = now;
    batch.missing = depth_ * kReplyBytes;
    return sockets_.send(client, batch.requests);
  }

  /// True when this client is done.
  Result<bool> on_ready(std::size_t client) {
    const auto bytes = sockets_.receive(client);
    if (!bytes) return failure(bytes.error());
    Batch& batch = batches_[client];
    batch.missing -= std::min(batch.missing, bytes->size());
    if (batch.missing > 0) return false;
    const TimePoint now = Clock::now();
    samples_.push_back(now - batch.sent);
    if (now >= end_) return true;
    if (auto sent = send(client, now); !sent) return failure(std::move(sent.error()));
    return false;
  }

  StoreClients& sockets_;  // outlives it
  const std::size_t depth_;
  const TimePoint end_;
  std::vector<Batch> batches_;
  Samples samples_;
};

}  // namespace

Result<LoadFigures> run_loop(const StoreServer& server, const LoopLoad& load) {
  auto clients = connected(server, load.clients);
  if (!clients) return failure(std::move(clients.error()));
  if (auto stored = store_values(*clients, load.clients); !stored) return failure(stored.error());
  ClosedLoop loop(*clients, load);
  const Meter meter(server);
  if (auto done = loop.run(); !done) return failure(std::move(done.error()));
  LoadFigures figures = meter.per(loop.operations());
  figures.p99_us = microseconds(percentile(loop.take_samples(), 99));
  return figures;
}

Result<LoadFigures> run_storm(const StoreServer& server, std::size_t clients) {
  auto sockets = StoreClients::open();
  if (!sockets) return failure(std::move(sockets.error()));
  Storm storm(*sockets, clients);
  const Meter meter(server);
  if (auto done = storm.run(server.port()); !done) return failure(std::move(done.error()));
  LoadFigures figures = meter.per(1);
  figures.cpu_us /= static_cast<double>(clients);
  figures.lost = static_cast<double>(storm.lost());
  return figures;
}

Result<LoadFigures> run_herd(const StoreServer& server, std::size_t waiters) {
  constexpr Duration kSettle = std::chrono::milliseconds(500);
  const std::string key = fresh_prefix();
  auto clients = connected(server, 1 + waiters);
  if (!clients) return failure(std::move(clients.error()));
  const std::string wait = wire::wait({key});
  Result<void> done;
  for (std::size_t i = 0; done && i < waiters; ++i) {
    done = clients->send(1 + i, wait);
  }
  // No reply tells that a WAIT has come.
  if (done) done = pause_for(kSettle);
  if (done) done = clients->round_trip(kControl);
  const Meter meter(server);
  if (done) done = clients->send(kControl, wire::set(key, kValue));
  if (done) {
    done = clients->run_until(waiters, Clock::now() + kLimit, [&](std::size_t client) {
      const auto bytes = clients->receive(client);
      return bytes ? Result<bool>(!bytes->empty()) : Result<bool>(failure(bytes.error()));
    });
  }
  if (!done) return failure(std::move(done.error()));
  LoadFigures figures = meter.per(1);
  figures.cpu_us /= static_cast<double>(waiters);
  return figures;
}

Result<LoadFigures> run_gloo(const StoreServer& server, std::size_t ranks) {
  // As gloo of PyTorch 2.6 and later publishes for each rank: its host, an address, and 8 bytes for
  // each rank.
  constexpr std::size_t kFixedBytes = 162;
  const std::string value(kFixedBytes + 8 * ranks, 'a');
  const std::vector<std::string> keys = fresh_keys(ranks);
  const std::string wait = wire::wait(keys);
  const std::string fetch = wire::multi_get(keys);
  const std::size_t fetched = ranks * (wire::kCountBytes + value.size());
  auto clients = connected(server, ranks);
  if (!clients) return failure(std::move(clients.error()));

  std::vector<std::size_t> missing(ranks, 0);  // bytes of the fetch; 0: not begun
  const auto on_ready = [&](std::size_t rank) -> Result<bool> {
    const auto bytes = clients->receive(rank);
    if (!bytes) return failure(bytes.error());
    if (bytes->empty()) return false;
    if (missing[rank] > 0) {
      missing[rank] -= std::min(missing[rank], bytes->size());
      return missing[rank] == 0;
    }
    missing[rank] = fetched;  // all are there
    auto sent = clients->send(rank, fetch);
    if (!sent) return failure(std::move(sent.error()));
    return false;
  };
  const Meter meter(server);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto done = clients->send(rank, wire::set(keys[rank], value));
    if (done) done = clients->send(rank, wait);
    if (!done) return failure(std::move(done.error()));
  }
  auto done = clients->run_until(ranks, Clock::now() + kLimit, on_ready);
  if (!done) return failure(std::move(done.error()));
  return meter.per(1);
}

Result<LoadFigures> run_multi_set(const StoreServer& server, std::size_t pairs) {
  auto clients = connected(server, 1);
  if (!clients) return failure(std::move(clients.error()));
  const std::string request = wire::multi_set(fresh_keys(pairs), "");
  const Meter meter(server);
  auto done = clients->send(kControl, request);
  if (done) done = clients->round_trip(kControl);
  if (!done) return failure(std::move(done.error()));
  return meter.per(1);
}

Result<Samples> run_offered(const StoreServer& server, const OfferedLoad& load) {
  constexpr std::size_t kClients = 16;
  constexpr Duration kPatience = std::chrono::milliseconds(10);  // with nothing to do but to wait
  ::prctl(PR_SET_TIMERSLACK, 1);  // nanoseconds: requests are to be sent in time
  auto clients = connected(server, kClients);
  if (!clients) return failure(std::move(clients.error()));
  if (auto done = store_values(*clients, kClients); !done) return failure(done.error());
  const auto interval =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / load.per_second));
  std::vector<TimePoint> due_of(kClients);  // when the request on the way was to be sent
  std::deque<std::size_t> idle;
  for (std::size_t i = 0; i < kClients; ++i) {
    idle.push_back(i);
  }
  Samples samples;
  TimePoint due = Clock::now();
  const TimePoint end = due + load.duration;
  while (due < end || idle.size() < kClients) {
    while (due <= Clock::now() && due < end && !idle.empty()) {
      const std::size_t client = idle.front();
      idle.pop_front();
      due_of[client] = due;
      due += interval;
      if (auto sent = clients->send(client, wire::get(key_of(client))); !sent) {
        return failure(sent.error());
      }
    }
    const TimePoint next = due < end && !idle.empty() ? due : Clock::now() + kPatience;
    const auto ready = clients->wait_until(next, end + kLimit);
    if (!ready) return failure(ready.error());
    for (const std::size_t client : *ready) {
      const auto bytes = clients->receive(client);
      if (!bytes) return failure(bytes.error());
      samples.push_back(Clock::now() - due_of[client]);
      idle.push_back(client);
    }
  }
  return samples;
}

}  // namespace rankrun::bench
