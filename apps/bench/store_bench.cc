// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/store_bench.h"

#include "apps/bench/machine.h"
#include "apps/bench/parts.h"
#include "apps/bench/store_clients.h"
#include "apps/bench/store_loads.h"
#include "apps/bench/store_servers.h"
#include "apps/bench/store_trouble.h"
#include "apps/bench/wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rankrun::bench {

using base::failure;
using base::Result;

namespace {

constexpr double kMillisecond = 1000;  // in microseconds
constexpr auto kAll = {ServerKind::rankrun, ServerKind::floor, ServerKind::libuv, ServerKind::poll};
constexpr auto kFast = {ServerKind::rankrun, ServerKind::floor, ServerKind::libuv};

using Measure = std::function<Result<LoadFigures>(const StoreServer&)>;
using Figure = double LoadFigures::*;

/// The figures of all rounds, by server.
using Measured = std::map<ServerKind, std::vector<LoadFigures>>;

/// In turns, so that what else the machine does falls on all alike.
Result<Measured> measure(const Bench& bench,
                         const std::vector<ServerKind>& kinds,
                         int rounds,
                         const Measure& load) {
  const auto servers = start_servers(bench, kinds);
  if (!servers) return failure(servers.error());
  Measured measured;
  for (int round = 0; round < rounds; ++round) {
    for (const StoreServer& server : *servers) {
      const auto figures = load(server);
      if (!figures) return failure(figures.error().within(name_of(server.kind())));
      measured[server.kind()].push_back(*figures);
    }
  }
  return measured;
}

std::optional<double> median_of(const Measured& measured, ServerKind kind, Figure figure) {
  const auto rounds = measured.find(kind);
  if (rounds == measured.end()) return std::nullopt;
  std::vector<double> values;
  for (const LoadFigures& figures : rounds->second) {
    values.push_back(figures.*figure);
  }
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// What a row shows of the figures.
struct Shown {
  std::string what;
  Unit unit = Unit::microseconds;
  Figure figure = &LoadFigures::wall_us;
};

/// Ours beside one peer.
struct Comparison {
  ServerKind peer = ServerKind::libuv;
  std::optional<Bar> bar;
};

Rows compared(const Measured& measured,
              const Shown& shown,
              const std::vector<Comparison>& comparisons) {
  const double scale = shown.unit == Unit::milliseconds ? kMillisecond : 1;
  Rows rows;
  for (const auto& [kind, bar] : comparisons) {
    const double ours = *median_of(measured, ServerKind::rankrun, shown.figure);
    Row compared = row(shown.what, shown.unit, ours / scale, bar);
    const auto peer = median_of(measured, kind, shown.figure);
    if (peer) compared.peer = Peer{name_of(kind), *peer / scale};
    if (!peer) compared.note = kNoTorchrun;
    rows.push_back(std::move(compared));
  }
  return rows;
}

Rows joined(std::vector<Rows> parts) {
  Rows all;
  for (Rows& rows : parts) {
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

constexpr Bar at_most(double limit) {
  return {Bar::Kind::at_most, limit};
}
constexpr Bar at_most_times(double limit) {
  return {Bar::Kind::at_most_times_peer, limit};
}
constexpr Bar times_below(double limit) {
  return {Bar::Kind::times_below_peer, limit};
}

/// The least part of the floor's throughput, as a limit for the time per operation.
constexpr double kOfTheFloor = 1 / 0.9;

int scaled(const StoreOptions& options, int full) {
  return std::max(1, full * options.scale / 100);
}

Result<Rows> small_loop_rows(const Bench& bench, const StoreOptions& options) {
  const LoopLoad load{
      .clients = 16, .depth = 1, .duration = std::chrono::milliseconds(options.milliseconds)};
  const auto measured = measure(bench, kAll, options.rounds, [&](const StoreServer& server) {
    return run_loop(server, load);
  });
  if (!measured) return failure(measured.error());
  return joined({compared(*measured,
                          {"GET, 16 connections, time per operation"},
                          {{ServerKind::floor, at_most_times(kOfTheFloor)},
                           {ServerKind::libuv, at_most_times(1)},
                           {ServerKind::poll, {}}}),
                 compared(*measured,
                          {"GET, 16 connections, p99", Unit::microseconds, &LoadFigures::p99_us},
                          {{ServerKind::libuv, at_most(250)}}),
                 compared(*measured,
                          {"GET, 16 connections, server's CPU per operation",
                           Unit::microseconds,
                           &LoadFigures::cpu_us},
                          {{ServerKind::libuv, at_most_times(1)}, {ServerKind::floor, {}}})});
}

Result<Rows> large_loop_rows(const Bench& bench, const StoreOptions& options) {
  const int clients = scaled(options, 1000);
  const LoopLoad load{.clients = static_cast<std::size_t>(clients),
                      .depth = 1,
                      .duration = std::chrono::milliseconds(options.milliseconds)};
  const auto measured = measure(bench, kAll, options.rounds, [&](const StoreServer& server) {
    return run_loop(server, load);
  });
  if (!measured) return failure(measured.error());
  const std::string what = fmt::format("GET, {} connections, ", clients);
  constexpr double kOfLibuv = 1 / 0.95;
  return joined(
      {compared(*measured,
                {what + "time per operation"},
                {{ServerKind::floor, at_most_times(kOfTheFloor)},
                 {ServerKind::libuv, at_most_times(kOfLibuv)},
                 {ServerKind::poll, {}}}),
       compared(*measured,
                {what + "server's CPU per operation", Unit::microseconds, &LoadFigures::cpu_us},
                {{ServerKind::libuv, {}}, {ServerKind::floor, {}}})});
}

Result<Rows> pipelined_rows(const Bench& bench, const StoreOptions& options) {
  constexpr double kMostMicroseconds = 1 / 1.5;  // 1.5 million per second
  const LoopLoad load{
      .clients = 16, .depth = 16, .duration = std::chrono::milliseconds(options.milliseconds)};
  const auto measured = measure(bench, kAll, options.rounds, [&](const StoreServer& server) {
    return run_loop(server, load);
  });
  if (!measured) return failure(measured.error());
  const std::string what = "GET, 16 connections, 16 at a time, ";
  return joined(
      {compared(*measured,
                {what + "time per operation"},
                {{ServerKind::floor, at_most(kMostMicroseconds)},
                 {ServerKind::libuv, times_below(8)},
                 {ServerKind::poll, {}}}),
       compared(*measured,
                {what + "server's CPU per operation", Unit::microseconds, &LoadFigures::cpu_us},
                {{ServerKind::libuv, at_most(0.7)}, {ServerKind::floor, {}}})});
}

Result<Rows> storm_rows(const Bench& bench, const StoreOptions& options, int full) {
  const int clients = scaled(options, full);
  const auto measured = measure(bench, kFast, options.rounds, [&](const StoreServer& server) {
    return run_storm(server, static_cast<std::size_t>(clients));
  });
  if (!measured) return failure(measured.error());
  const std::string what = fmt::format("{} connect, handshake, ADD, ", clients);
  const auto wall_of = [&](ServerKind kind) {
    return median_of(*measured, kind, &LoadFigures::wall_us).value_or(0);
  };
  // The bar is about the slower of the two.
  const bool floor_is_slower = wall_of(ServerKind::floor) >= wall_of(ServerKind::libuv);
  const Bar bar = at_most_times(1.1);
  return joined(
      {compared(*measured,
                {what + "all", Unit::milliseconds},
                {{floor_is_slower ? ServerKind::floor : ServerKind::libuv, bar},
                 {floor_is_slower ? ServerKind::libuv : ServerKind::floor, {}}}),
       compared(*measured,
                {what + "server's CPU per client", Unit::microseconds, &LoadFigures::cpu_us},
                {{ServerKind::libuv, at_most(30)}, {ServerKind::floor, {}}}),
       compared(*measured,
                {what + "lost", Unit::count, &LoadFigures::lost},
                {{ServerKind::libuv, at_most(0)}})});
}

Result<Rows> mute_names_rows(const Bench& bench, const StoreOptions& options) {
  const int clients = scaled(options, 4000);
  const auto server = StoreServer::start(bench, ServerKind::rankrun, Names::mute_server);
  if (!server) return failure(server.error());
  const auto figures = run_storm(*server, static_cast<std::size_t>(clients));
  if (!figures) return failure(figures.error());
  Row lost = row(fmt::format("{} connect, no name server answers, lost", clients),
                 Unit::count,
                 figures->lost,
                 at_most(0));
  lost.note = fmt::format("all: {:.0f} ms", figures->wall_us / kMillisecond);
  return Rows{std::move(lost)};
}

Result<Rows> herd_rows(const Bench& bench, const StoreOptions& options) {
  const int waiters = scaled(options, 10'000);
  const auto measured = measure(bench, kFast, options.rounds, [&](const StoreServer& server) {
    return run_herd(server, static_cast<std::size_t>(waiters));
  });
  if (!measured) return failure(measured.error());
  const std::string what = fmt::format("one SET wakes {}, ", waiters);
  return joined(
      {compared(*measured,
                {what + "all", Unit::milliseconds},
                {{ServerKind::floor, at_most_times(1.5)}, {ServerKind::libuv, {}}}),
       compared(*measured,
                {what + "server's CPU per waiter", Unit::microseconds, &LoadFigures::cpu_us},
                {{ServerKind::libuv, {}}})});
}

Result<LoadFigures> measure_idle(const StoreServer& server, int count) {
  constexpr double kKibibyte = 1024;
  auto clients = StoreClients::open();
  if (!clients) return failure(clients.error());
  auto done = clients->connect(server.port(), 1);
  const auto before = private_bytes(server.pid());
  if (done) done = clients->connect(server.port(), static_cast<std::size_t>(count));
  if (!done) return failure(done.error());
  const auto after = private_bytes(server.pid());
  if (!before || !after) return failure(before ? after.error() : before.error());
  LoadFigures figures;
  figures.kib_each = (*after - *before) / kKibibyte / count;
  for (std::size_t client = 0; client < clients->size(); ++client) {
    if (!clients->round_trip(client)) ++figures.lost;
  }
  return figures;
}

Result<Rows> idle_rows(const Bench& bench, const StoreOptions& options) {
  const int count = scaled(options, 15'000);
  const auto measured =
      measure(bench, {ServerKind::rankrun, ServerKind::libuv}, 1, [&](const StoreServer& server) {
        return measure_idle(server, count);
      });
  if (!measured) return failure(measured.error());
  const std::string what = fmt::format("{} idle connections, ", count);
  return joined({compared(*measured,
                          {what + "memory of each", Unit::kibibytes, &LoadFigures::kib_each},
                          {{ServerKind::libuv, at_most(4)}}),
                 compared(*measured,
                          {what + "lost", Unit::count, &LoadFigures::lost},
                          {{ServerKind::libuv, at_most(0)}})});
}

Result<Rows> gloo_rows(const Bench& bench, const StoreOptions& options, int full) {
  constexpr int kLarge = 512;  // from there on a round takes libuv half a minute
  const int ranks = scaled(options, full);
  const int rounds = full < kLarge ? options.rounds : 1;
  const auto measured = measure(bench, kFast, rounds, [&](const StoreServer& server) {
    return run_gloo(server, static_cast<std::size_t>(ranks));
  });
  if (!measured) return failure(measured.error());
  const std::string what = fmt::format("gloo start-up of {} ranks, ", ranks);
  return joined({compared(*measured,
                          {what + "all", Unit::milliseconds},
                          {{ServerKind::libuv, times_below(2)}, {ServerKind::floor, {}}}),
                 compared(*measured,
                          {what + "server's CPU", Unit::milliseconds, &LoadFigures::cpu_us},
                          {{ServerKind::libuv, {}}, {ServerKind::floor, {}}})});
}

Result<Rows> multi_set_rows(const Bench& bench, const StoreOptions& options) {
  const int pairs = scaled(options, 64'000);
  const auto measured =
      measure(bench, {ServerKind::rankrun, ServerKind::libuv}, 1, [&](const StoreServer& server) {
        return run_multi_set(server, static_cast<std::size_t>(pairs));
      });
  if (!measured) return failure(measured.error());
  return compared(*measured,
                  {fmt::format("one MULTI_SET of {} pairs", pairs), Unit::milliseconds},
                  {{ServerKind::libuv, at_most(100)}});
}

}  // namespace

Report run_store_bench(const StoreOptions& options) {
  using PartOfOptions = Result<Rows> (*)(const Bench&, const StoreOptions&);
  const auto part = [&](const char* name, PartOfOptions measure_it) {
    return Part{name,
                [&options, measure_it](const Bench& bench) { return measure_it(bench, options); }};
  };
  const auto sized = [&](const char* name, auto measure_it, int size) {
    return Part{name, [&options, measure_it, size](const Bench& bench) {
                  return measure_it(bench, options, size);
                }};
  };
  return run_parts("store",
                   options,
                   {part("a few clients", small_loop_rows),
                    part("many clients", large_loop_rows),
                    part("pipelined requests", pipelined_rows),
                    sized("a storm of 4000", storm_rows, 4000),
                    sized("a storm of 10000", storm_rows, 10'000),
                    part("a storm without names", mute_names_rows),
                    part("a herd", herd_rows),
                    part("idle connections", idle_rows),
                    sized("gloo, 256 ranks", gloo_rows, 256),
                    sized("gloo, 1024 ranks", gloo_rows, 1024),
                    part("one large request", multi_set_rows),
                    part("clients that misbehave", trouble_rows)});
}

}  // namespace rankrun::bench
