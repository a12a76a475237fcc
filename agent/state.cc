// SPDX-License-Identifier: Apache-2.0
#include "agent/state.h"

#include <csignal>

namespace rankrun::agent {

using rendezvous::Outcome;
using rendezvous::Verdict;

namespace {

void append(std::vector<Action>& actions, std::vector<Action> more) {
  actions.insert(actions.end(), more.begin(), more.end());
}

}  // namespace

std::vector<Action> AgentState::start() {
  return {action::Join{}};
}

std::vector<Action> AgentState::on(const Event& event) {
  return std::visit([this](const auto& value) { return handle(value); }, event);
}

std::vector<Action> AgentState::handle(const event::ViewFormed& formed) {
  if (phase_ != Phase::joining) return {};
  phase_ = Phase::running;
  view_ = formed.view.id;
  live_ = local_world_size_;
  ending_.failure.reset();
  ending_.hang.reset();
  return {action::StartWorkers{formed.view}};
}

std::vector<Action> AgentState::handle(const event::Failed& failed) {
  if (phase_ == Phase::ended) return {};
  if (!ending_.error) ending_.error = failed.error;
  switch (phase_) {
    case Phase::running:
    case Phase::stopping:
      return end_workers();
    case Phase::leaving:
      return handle(event::Left{});
    case Phase::joining:
    case Phase::reporting:
    case Phase::ended:
      break;
  }
  return leave();
}

std::vector<Action> AgentState::handle(const event::WorkersStuck& stuck) {
  if (phase_ != Phase::stopping) return {};
  if (!ending_.error) ending_.error = stuck.error;
  return leave();  // nothing is started over them
}

std::vector<Action> AgentState::handle(const event::WorkerEnded& ended) {
  if (phase_ != Phase::running && phase_ != Phase::stopping) return {};
  --live_;
  std::vector<Action> actions;
  if (phase_ == Phase::running && !ended.status.success()) {
    ending_.failure = WorkerFailure{ended.local_rank, ended.status};
    actions.emplace_back(action::AnnounceFailure{*ending_.failure});
    if (live_ > 0) append(actions, stop_workers(SIGTERM));
  }
  if (live_ == 0) append(actions, end_workers());
  return actions;
}

std::vector<Action> AgentState::handle(const event::HangFound& found) {
  if (phase_ != Phase::running) return {};
  ending_.hang = found.hang;
  std::vector<Action> actions{action::AnnounceHang{found.hang}};
  append(actions, stop_workers(SIGTERM));
  return actions;
}

std::vector<Action> AgentState::handle(const event::GraceExpired&) {
  return phase_ == Phase::stopping ? end_workers() : std::vector<Action>{};
}

std::vector<Action> AgentState::handle(const event::WorkersGone&) {
  if (phase_ != Phase::stopping) return {};
  ending_workers_ = false;
  if (ending_.stop_signal || ending_.error) return leave();
  phase_ = Phase::reporting;
  const bool has_failed = ending_.failure || ending_.hang;
  return {action::Report{view_, has_failed ? Outcome::failed : Outcome::succeeded}};
}

std::vector<Action> AgentState::handle(const event::VerdictGiven& given) {
  if (phase_ != Phase::reporting) return {};
  if (given.verdict != Verdict::restart) return leave();
  phase_ = Phase::joining;
  return {action::Join{}};
}

std::vector<Action> AgentState::handle(const event::StopRequested& requested) {
  const bool is_notice =
      on_term_ == OnTerm::notify && requested.signal == SIGTERM && !ending_.stop_signal;
  const bool is_repeated = stop_asked_;
  if (!ending_.stop_signal) ending_.stop_signal = requested.signal;
  if (!is_notice) stop_asked_ = true;
  switch (phase_) {
    case Phase::joining:
    case Phase::reporting:
      return leave();
    case Phase::running:
      if (is_notice) return {action::SignalWorkers{requested.signal}};
      return stop_workers(requested.signal);
    case Phase::stopping:
      if (is_repeated) return end_workers();
      return {action::SignalWorkers{requested.signal}};
    case Phase::leaving:
    case Phase::ended:
      break;
  }
  return {};
}

std::vector<Action> AgentState::handle(const event::SignalForWorkers& passed) {
  if (phase_ != Phase::running && phase_ != Phase::stopping) return {};
  return {action::SignalWorkers{passed.signal}};
}

std::vector<Action> AgentState::handle(const event::Left&) {
  if (phase_ == Phase::leaving) phase_ = Phase::ended;
  return {};
}

std::vector<Action> AgentState::stop_workers(int signal) {
  phase_ = Phase::stopping;
  return {action::SignalWorkers{signal}, action::ArmGrace{}};
}

std::vector<Action> AgentState::end_workers() {
  phase_ = Phase::stopping;
  if (ending_workers_) return {};
  ending_workers_ = true;
  return {action::EndWorkers{}};
}

std::vector<Action> AgentState::leave() {
  phase_ = Phase::leaving;
  return {action::Leave{}};
}

}  // namespace rankrun::agent
