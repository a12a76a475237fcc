// SPDX-License-Identifier: Apache-2.0
// A small process that outlives the agent, to end what it leaves behind when it dies without a
// word.
#pragma once

#include "agent/shared_marks.h"
#include "store/base/log.h"
#include "store/base/result.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

namespace rankrun::agent {

/// It has a session of its own, so that no signal to the agent's group or terminal reaches it,
/// holds nothing open but a descriptor of the agent, and sleeps until that dies. Belongs to a loop.
class Keeper {
 public:
  /// Forks, at best before other threads exist. `marks` outlives this object.
  static base::Result<Keeper> start(boost::asio::any_io_executor executor,
                                    const SharedMarks& marks);
  /// Waits for the end of one that was dismissed. Any other one works when the agent has ended.
  ~Keeper();
  Keeper(Keeper&& other) noexcept;
  Keeper& operator=(Keeper&&) = delete;

  pid_t pid() const { return pid_; }

  /// Replaces it each time that something ends it, until cancelled.
  boost::asio::awaitable<void> replace_when_ended(base::Logger log);

  /// Ends it, unless workers are left that it must see to.
  void dismiss();

 private:
  Keeper(const SharedMarks& marks, pid_t pid, boost::asio::posix::stream_descriptor exit);

  const SharedMarks* marks_;
  pid_t pid_;
  boost::asio::posix::stream_descriptor exit_;  // its pidfd
  bool dismissed_ = false;
};

}  // namespace rankrun::agent
