// SPDX-License-Identifier: Apache-2.0
// Rendezvous of one node: the coordinator is in this process, nothing but the workers' store is
// opened.
#pragma once

#include "rendezvous/rendezvous.h"
#include "rendezvous/restart_budget.h"
#include "store/base/log.h"
#include "store/server.h"

#include <memory>
#include <string>
#include <vector>

namespace rankrun::rendezvous {

struct LocalOptions {
  Member member;
  int max_restarts = 0;
  /// Bound exactly; of a name, the first address that it resolves to and this host has. Workers
  /// get the text as it stands here.
  std::string master_addr = "127.0.0.1";
  std::uint16_t master_port = 0;  ///< 0: the kernel picks one per view
  store::LegacyClients legacy = store::LegacyClients::on_loopback;
};

class LocalRendezvous final : public Rendezvous {
 public:
  LocalRendezvous(LocalOptions options, base::Logger log);

  boost::asio::awaitable<base::Result<View>> next_view(base::TimePoint deadline) override;
  boost::asio::awaitable<base::Result<Verdict>> report(ViewId view,
                                                       Outcome outcome,
                                                       base::TimePoint deadline) override;
  boost::asio::awaitable<base::Result<void>> leave(base::TimePoint deadline) override;

 private:
  boost::asio::awaitable<base::Result<void>> resolve_master(base::TimePoint deadline);
  base::Result<void> open_store();
  base::Error explain_bind_failure(const base::Error& error, const std::string& address) const;
  void close_store();

  LocalOptions options_;
  base::Logger log_;
  RestartBudget budget_;
  std::uint64_t views_ = 0;
  std::vector<std::string> addresses_;     // literals behind options_.master_addr, once resolved
  std::unique_ptr<store::Server> server_;  // of the current view
};

}  // namespace rankrun::rendezvous
