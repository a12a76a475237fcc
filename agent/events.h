// SPDX-License-Identifier: Apache-2.0
// Pure: every change of a job's state as a line of JSON, in our form and in torchrun's (README.md
// has both).
#pragma once

#include "agent/job_report.h"
#include "rendezvous/view.h"

#include <string>
#include <variant>

namespace rankrun::agent {

namespace change {

struct JobStarted {};
/// A view has formed; its workers are about to start.
struct AttemptStarted {
  rendezvous::View view;
  base::Duration joining;  ///< how long the rendezvous took
};
struct WorkerStarted {
  int local_rank;
  pid_t pid;
};
struct WorkerEnded {
  WorkerReport worker;
};
/// rankrun was told to stop.
struct StopRequested {
  int signal;
};
/// The workers that live are sent a signal to end.
struct WorkersStopped {
  int signal;
};
/// Workers hang; those that live are about to be stopped.
struct HangFound {
  Hang hang;
};
/// All workers start again.
struct RestartDecided {
  base::Duration delay{};  ///< before that
};
struct JobEnded {
  JobResult result;
  int exit_code;
  std::string reason;
};

}  // namespace change

using StateChange = std::variant<change::JobStarted,
                                 change::AttemptStarted,
                                 change::WorkerStarted,
                                 change::WorkerEnded,
                                 change::StopRequested,
                                 change::WorkersStopped,
                                 change::HangFound,
                                 change::RestartDecided,
                                 change::JobEnded>;

/// Where and when a change happened.
struct EventContext {
  const JobFacts& job;
  const rendezvous::View* view = nullptr;  ///< of the current attempt; null before the first
  base::TimePoint now;
};

/// One line, its newline included.
std::string event_line(const EventContext& context, const StateChange& change);

/// The lines that torchrun writes at this point; often none.
std::string torchrun_event_lines(const EventContext& context, const StateChange& change);

}  // namespace rankrun::agent
