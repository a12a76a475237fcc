// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/store_trouble.h"

#include "apps/bench/store_clients.h"
#include "apps/bench/store_loads.h"
#include "apps/bench/store_servers.h"
#include "apps/bench/store_wire.h"
#include "apps/bench/wait.h"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace rankrun::bench {

using base::Clock;
using base::Duration;
using base::failure;
using base::Result;
using base::UniqueFd;

namespace {

/// Connects, sends what no store client sends, and goes, again and again, on a thread of its own.
class GarbageClients {
 public:
  GarbageClients(std::uint16_t port, double per_second)
      : started_(Clock::now()), thread_([this, port, per_second](const std::stop_token& stop) {
          run(stop, port, std::chrono::duration<double>(1 / per_second));
        }) {}

  double per_second() const {
    return static_cast<double>(sent_) /
           std::chrono::duration<double>(Clock::now() - started_).count();
  }

 private:
  void run(const std::stop_token& stop,
           std::uint16_t port,
           std::chrono::duration<double> interval) {
    auto next = started_;
    while (!stop.stop_requested()) {
      next += std::chrono::duration_cast<Duration>(interval);
      std::this_thread::sleep_until(next);
      send_one(port);
    }
  }

  void send_one(std::uint16_t port) {
    constexpr std::string_view kProbe = "GET / HTTP/1.1\r\nHost: store\r\n\r\n";
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const linger reset{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::send(socket.get(), kProbe.data(), kProbe.size(), MSG_NOSIGNAL) > 0) {
      ++sent_;
    }
  }

  const base::TimePoint started_;
  std::atomic<std::uint64_t> sent_ = 0;
  std::jthread thread_;  // last: it uses the others
};

/// The p99 that others see, in microseconds.
using Measure = std::function<Result<double>()>;

Result<double> beside_stalled_client(const StoreServer& server, const Measure& p99_us) {
  constexpr std::size_t kValueBytes = std::size_t{8} << 20;
  auto clients = StoreClients::open();
  if (!clients) return failure(clients.error());
  auto done = clients->connect(server.port(), 1);
  const std::string request = wire::set("/benchmark/stalled", std::string(kValueBytes, 'x'));
  if (done) done = clients->send(0, std::string_view(request).substr(0, request.size() / 2));
  if (!done) return failure(done.error());
  return p99_us();
}

Result<double> beside_half_open(const StoreServer& server,
                                std::size_t count,
                                const Measure& p99_us) {
  auto clients = StoreClients::open();
  if (!clients) return failure(clients.error());
  auto done = clients->connect(server.port(), count, StoreClients::Greet::no);
  if (!done) return failure(done.error());
  return p99_us();
}

Result<double> beside_garbage(const StoreServer& server, double per_second, const Measure& p99_us) {
  const GarbageClients garbage(server.port(), per_second);
  auto p99 = p99_us();
  constexpr double kEnough = 0.95;
  if (p99 && garbage.per_second() < kEnough * per_second) {
    return failure({},
                   fmt::format("only {:.0f} garbage connections per second", garbage.per_second()));
  }
  return p99;
}

/// A kind of trouble, and the p99 beside it in each round.
struct Trouble {
  std::string name;
  std::function<Result<double>()> measure;
  std::vector<double> rounds;

  double median() {
    std::sort(rounds.begin(), rounds.end());
    return rounds[rounds.size() / 2];
  }
};

Result<void> measure_all(std::vector<Trouble>& troubles, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (Trouble& trouble : troubles) {
      const Result<double> p99 = trouble.measure();
      if (!p99) return failure(p99.error().within(trouble.name));
      trouble.rounds.push_back(*p99);
    }
  }
  return {};
}

Rows beside_quiet(std::vector<Trouble> troubles) {
  constexpr Bar kTwice{Bar::Kind::at_most_times_peer, 2};
  const double quiet = troubles.front().median();
  Rows rows;
  for (std::size_t i = 1; i < troubles.size(); ++i) {
    Row troubled = row("p99 at 20 % of the most, beside " + troubles[i].name,
                       Unit::microseconds,
                       troubles[i].median(),
                       kTwice);
    troubled.peer = Peer{troubles.front().name, quiet};
    rows.push_back(std::move(troubled));
  }
  return rows;
}

}  // namespace

Result<Rows> trouble_rows(const Bench& bench, const StoreOptions& options) {
  constexpr double kPartOfTheMost = 0.2;
  constexpr double kMicrosecondsPerSecond = 1e6;
  constexpr int kHalfOpen = 10'000;
  constexpr double kGarbagePerSecond = 5'000;
  constexpr Duration kSettle = std::chrono::milliseconds(300);  // what came before is closed
  const auto server = StoreServer::start(bench, ServerKind::rankrun);
  if (!server) return failure(server.error());
  const auto duration = std::chrono::milliseconds(options.milliseconds);
  const auto most = run_loop(*server, {.clients = 16, .depth = 1, .duration = duration});
  if (!most) return failure(most.error());
  const double rate = kPartOfTheMost * kMicrosecondsPerSecond / most->wall_us;
  const Measure p99_us = [&]() -> Result<double> {
    if (auto settled = pause_for(kSettle); !settled) return failure(settled.error());
    const auto samples = run_offered(*server, {.per_second = rate, .duration = duration});
    if (!samples) return failure(samples.error());
    return microseconds(percentile(*samples, 99));
  };
  const auto half_open = static_cast<std::size_t>(kHalfOpen * options.scale / 100);
  std::vector<Trouble> troubles = {
      {"quiet", p99_us, {}},
      {"a client stalled in a request", [&] { return beside_stalled_client(*server, p99_us); }, {}},
      {fmt::format("{} half-open connections", half_open),
       [&] { return beside_half_open(*server, half_open, p99_us); },
       {}},
      {"5000 garbage connections per second",
       [&] { return beside_garbage(*server, kGarbagePerSecond, p99_us); },
       {}}};
  if (auto done = measure_all(troubles, options.rounds); !done) return failure(done.error());
  return beside_quiet(std::move(troubles));
}

}  // namespace rankrun::bench
