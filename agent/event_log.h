// SPDX-License-Identifier: Apache-2.0
// Where the changes of a job's state are written to, if anywhere.
#pragma once

#include "agent/console.h"
#include "agent/events.h"
#include "store/base/log.h"
#include "store/base/unique_fd.h"

#include <optional>
#include <string>
#include <string_view>

namespace rankrun::agent {

/// Who wants to know. Null and empty: nobody.
struct EventTargets {
  Console* torchrun_form = nullptr;  ///< stderr
  Console* own_form = nullptr;       ///< stdout
  std::string path;                  ///< a file that gets our own form, appended
};

/// Belongs to the agent's loop, which it never blocks: a target that takes no more is given up,
/// with one line on the log. Without targets it costs nothing.
class EventLog {
 public:
  /// Tells of the start of the job. `job` and the consoles belong to who runs it, and outlive this.
  EventLog(const JobFacts& job, EventTargets targets, base::Logger log);

  void write(const StateChange& change);

 private:
  void open_file();
  void write_to(Console*& console, const std::string& lines);
  void write_to_file(std::string_view line);

  const JobFacts& job_;
  EventTargets targets_;
  std::optional<rendezvous::View> view_;  // of the current attempt
  base::UniqueFd file_;                   // on targets_.path
  base::Logger log_;
};

}  // namespace rankrun::agent
