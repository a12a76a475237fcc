// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/local.h"

#include "store/base/endpoint.h"
#include "store/base/resolve.h"

#include <boost/asio/ip/address.hpp>

#include <array>
#include <utility>

namespace rankrun::rendezvous {

using base::failure;
using base::Result;
namespace asio = boost::asio;

LocalRendezvous::LocalRendezvous(LocalOptions options, base::Logger log)
    : options_(std::move(options)), log_(std::move(log)), budget_(options_.max_restarts) {}

asio::awaitable<Result<View>> LocalRendezvous::next_view(base::TimePoint deadline) {
  close_store();
  if (addresses_.empty()) {
    auto resolved = co_await resolve_master(deadline);
    if (!resolved) co_return failure(std::move(resolved.error()));
  }
  auto opened = open_store();
  if (!opened) co_return failure(std::move(opened.error()));

  View view;
  view.id = ViewId{++views_};
  view.ranks = assign_ranks(std::array{options_.member}).front();
  view.master_addr = options_.master_addr;
  view.master_port = server_->port();
  view.restart_count = budget_.used();
  log_->debug("view {}: store listens on {}",
              views_,
              base::to_string(base::Endpoint{addresses_.front(), view.master_port}));
  co_return view;
}

asio::awaitable<Result<Verdict>> LocalRendezvous::report(ViewId, Outcome outcome, base::TimePoint) {
  close_store();
  if (outcome == Outcome::succeeded) co_return Verdict::finish;
  co_return budget_.take() ? Verdict::restart : Verdict::give_up;
}

asio::awaitable<Result<void>> LocalRendezvous::leave(base::TimePoint) {
  close_store();
  co_return Result<void>();
}

asio::awaitable<Result<void>> LocalRendezvous::resolve_master(base::TimePoint deadline) {
  boost::system::error_code not_literal;
  asio::ip::make_address(options_.master_addr, not_literal);
  if (!not_literal) {
    addresses_ = {options_.master_addr};
    co_return Result<void>();
  }
  auto found = co_await base::resolve_host(options_.master_addr, deadline);
  if (!found) {
    base::Error error = std::move(found.error());
    error.remedy = "give a literal address to --master-addr or --local-addr";
    co_return failure(std::move(error));
  }
  addresses_ = std::move(*found);
  co_return Result<void>();
}

Result<void> LocalRendezvous::open_store() {
  base::Error first_error;
  for (const std::string& address : addresses_) {
    store::ServerOptions options;
    options.address = address;
    options.port = options_.master_port;
    options.legacy = options_.legacy;
    auto server = store::Server::start(std::move(options), log_);
    if (server) {
      server_ = std::move(*server);
      addresses_ = {std::string(address)};  // later views open on the same address
      return {};
    }
    if (!first_error.code) first_error = explain_bind_failure(server.error(), address);
  }
  return failure(std::move(first_error));
}

base::Error LocalRendezvous::explain_bind_failure(const base::Error& error,
                                                  const std::string& address) const {
  base::Error explained = error;
  const bool any_port = options_.master_port == 0;
  explained.context =
      "cannot open the workers' store on " +
      (any_port ? address : base::to_string(base::Endpoint{address, options_.master_port}));
  if (error.code == std::errc::address_in_use) {
    explained.remedy = "choose another --master-port, or leave it out and a free one is taken";
  } else if (error.code == std::errc::address_not_available) {
    explained.remedy = "--master-addr or --local-addr must name an address of this host";
  } else if (error.code == std::errc::permission_denied) {
    explained.remedy = "choose a --master-port of 1024 or more";
  }
  return explained;
}

void LocalRendezvous::close_store() {
  if (!server_) return;
  const store::ServerReport report = server_->stop();
  server_.reset();
  log_->debug(
      "view {}: store closed: clients modern={} legacy={} of-2.1={} silent={} refused={} joined={} "
      "requests={} "
      "keys first={} last={}",
      views_,
      report.modern_clients,
      report.legacy_clients,
      report.proved_2_1,
      report.silent,
      report.refused,
      report.joined,
      report.requests,
      report.keys_at_first_request,
      report.keys_at_stop);
}

}  // namespace rankrun::rendezvous
