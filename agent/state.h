// SPDX-License-Identifier: Apache-2.0
// Pure: the agent's decisions. (state, event) -> actions; agent.cc performs them. The table is in
// README.md.
#pragma once

#include "agent/config.h"
#include "agent/exit_status.h"
#include "agent/hang_watch.h"
#include "rendezvous/view.h"
#include "store/base/error.h"

#include <optional>
#include <variant>
#include <vector>

namespace rankrun::agent {

/// One worker that ended with something else than 0 while nobody had asked it to stop.
struct WorkerFailure {
  int local_rank = 0;
  ExitStatus status = ExitStatus::exited(1);

  bool operator==(const WorkerFailure&) const = default;
};

namespace event {

struct ViewFormed {
  rendezvous::View view;
};
/// A call of the rendezvous failed, workers could not be started, or a task of ours threw.
struct Failed {
  base::Error error;
};
/// Something of the attempt outlived SIGKILL.
struct WorkersStuck {
  base::Error error;
};
struct WorkerEnded {
  int local_rank;
  ExitStatus status;
};
/// Workers make no progress.
struct HangFound {
  Hang hang;
};
/// The shutdown timeout is over.
struct GraceExpired {};
/// No process of the attempt is left.
struct WorkersGone {};
struct VerdictGiven {
  rendezvous::Verdict verdict;
};
/// A signal told this agent to stop.
struct StopRequested {
  int signal;
};
/// A signal came that is for the workers alone.
struct SignalForWorkers {
  int signal;
};
struct Left {};

}  // namespace event

using Event = std::variant<event::ViewFormed,
                           event::Failed,
                           event::WorkersStuck,
                           event::WorkerEnded,
                           event::HangFound,
                           event::GraceExpired,
                           event::WorkersGone,
                           event::VerdictGiven,
                           event::StopRequested,
                           event::SignalForWorkers,
                           event::Left>;

namespace action {

struct Join {};
struct StartWorkers {
  rendezvous::View view;
};
/// Signals every worker's process group.
struct SignalWorkers {
  int signal;
};
/// Arms the shutdown timeout; answered by GraceExpired unless the workers are gone before.
struct ArmGrace {};
/// Kills what is left of the attempt and waits; answered by WorkersGone or WorkersStuck.
struct EndWorkers {};
struct Report {
  rendezvous::ViewId view;
  rendezvous::Outcome outcome;
};
/// Tells the user which worker failed.
struct AnnounceFailure {
  WorkerFailure failure;
};
/// Tells the user that workers hang.
struct AnnounceHang {
  Hang hang;
};
/// Leaves the rendezvous; answered by Left. A pending join or report is given up.
struct Leave {};

}  // namespace action

using Action = std::variant<action::Join,
                            action::StartWorkers,
                            action::SignalWorkers,
                            action::ArmGrace,
                            action::EndWorkers,
                            action::Report,
                            action::AnnounceFailure,
                            action::AnnounceHang,
                            action::Leave>;

/// Why the agent ended; at most one decides, in this order: signal, error, failure or hang.
struct Ending {
  std::optional<int> stop_signal;           ///< we were told to stop
  std::optional<base::Error> error;         ///< trouble of our own
  std::optional<WorkerFailure> failure;     ///< the first worker that failed in the last attempt
  std::optional<Hang> hang = std::nullopt;  ///< or else what ended that attempt
};

enum class Phase { joining, running, stopping, reporting, leaving, ended };

class AgentState {
 public:
  AgentState(int local_world_size, OnTerm on_term)
      : local_world_size_(local_world_size), on_term_(on_term) {}

  /// The first actions.
  std::vector<Action> start();

  /// What to do about `event`. Events that no longer matter in the current phase give no action.
  std::vector<Action> on(const Event& event);

  Phase phase() const { return phase_; }
  /// Another stop signal will kill the workers at once.
  bool stop_asked() const { return stop_asked_; }
  /// Complete once phase() is ended.
  const Ending& ending() const { return ending_; }

 private:
  std::vector<Action> handle(const event::ViewFormed& formed);
  std::vector<Action> handle(const event::Failed& failed);
  std::vector<Action> handle(const event::WorkersStuck& stuck);
  std::vector<Action> handle(const event::WorkerEnded& ended);
  std::vector<Action> handle(const event::HangFound& found);
  std::vector<Action> handle(const event::GraceExpired&);
  std::vector<Action> handle(const event::WorkersGone&);
  std::vector<Action> handle(const event::VerdictGiven& given);
  std::vector<Action> handle(const event::StopRequested& requested);
  std::vector<Action> handle(const event::SignalForWorkers& passed);
  std::vector<Action> handle(const event::Left&);

  std::vector<Action> stop_workers(int signal);
  std::vector<Action> end_workers();
  std::vector<Action> leave();

  int local_world_size_;
  OnTerm on_term_;
  Phase phase_ = Phase::joining;
  rendezvous::ViewId view_{};
  int live_ = 0;                 // workers of this attempt that have not exited
  bool stop_asked_ = false;      // by more than a notice
  bool ending_workers_ = false;  // EndWorkers was asked for and not yet answered
  Ending ending_;
};

}  // namespace rankrun::agent
