// SPDX-License-Identifier: Apache-2.0
// What an agent sees of the rendezvous: the next view, a place to report to, a way to leave. One
// node's in-process coordinator (local.h) and the networked one stand behind it.
#pragma once

#include "rendezvous/view.h"
#include "store/base/clock.h"
#include "store/base/result.h"

#include <boost/asio/awaitable.hpp>

namespace rankrun::rendezvous {

/// One agent's membership in one job. Belongs to the agent's loop; one call at a time. Every call
/// ends at its deadline with base::errc::timed_out.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;

  /// Joins, or stays in, the job and waits until a view with this node is committed. Each view has
  /// a fresh store. All workers of the view before must be gone.
  virtual boost::asio::awaitable<base::Result<View>> next_view(base::TimePoint deadline) = 0;

  /// Tells how this node's workers ended. They are all gone when this is called.
  virtual boost::asio::awaitable<base::Result<Verdict>> report(ViewId view,
                                                               Outcome outcome,
                                                               base::TimePoint deadline) = 0;

  /// Leaves the job and closes what this node hosted for it. The last call.
  virtual boost::asio::awaitable<base::Result<void>> leave(base::TimePoint deadline) = 0;
};

}  // namespace rankrun::rendezvous
