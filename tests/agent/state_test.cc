// SPDX-License-Identifier: Apache-2.0
#include "agent/state.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <csignal>
#include <string>
#include <utility>

namespace rankrun::agent {
namespace {

using rendezvous::Outcome;
using rendezvous::Verdict;
using rendezvous::View;
using rendezvous::ViewId;

struct Named {
  std::string operator()(const action::Join&) const { return "join"; }
  std::string operator()(const action::StartWorkers& start) const {
    return "start view " + std::to_string(static_cast<unsigned>(start.view.id));
  }
  std::string operator()(const action::SignalWorkers& signal) const {
    return "signal " + std::to_string(signal.signal);
  }
  std::string operator()(const action::ArmGrace&) const { return "arm"; }
  std::string operator()(const action::EndWorkers&) const { return "end"; }
  std::string operator()(const action::Report& report) const {
    return "report " + std::to_string(static_cast<unsigned>(report.view)) +
           (report.outcome == Outcome::failed ? " failed" : " succeeded");
  }
  std::string operator()(const action::AnnounceFailure& announce) const {
    return "announce " + std::to_string(announce.failure.local_rank);
  }
  std::string operator()(const action::AnnounceHang& announce) const {
    return "announce hang of " + std::to_string(announce.hang.local_ranks.size());
  }
  std::string operator()(const action::Leave&) const { return "leave"; }
};

// The actions of one step as one line: "signal 15, arm".
std::string line(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    text += (text.empty() ? "" : ", ") + std::visit(Named{}, action);
  }
  return text;
}

event::ViewFormed formed(unsigned id) {
  View view;
  view.id = ViewId{id};
  return {view};
}

event::WorkerEnded ended(int local_rank, int code) {
  return {local_rank, ExitStatus::exited(code)};
}

event::WorkerEnded killed(int local_rank, int signal) {
  return {local_rank, ExitStatus::signaled(signal, false)};
}

event::HangFound hang_of(std::vector<int> local_ranks) {
  return {Hang{std::move(local_ranks), std::chrono::seconds(300)}};
}

event::Failed trouble() {
  return {base::Error{std::make_error_code(std::errc::io_error), "x", ""}};
}

// An agent of two workers that are running.
AgentState running(OnTerm on_term = OnTerm::stop) {
  AgentState state(2, on_term);
  CHECK(line(state.start()) == "join");
  CHECK(line(state.on(formed(1))) == "start view 1");
  CHECK(state.phase() == Phase::running);
  return state;
}

TEST_CASE("a job whose workers all exit with 0 is reported and left", "[agent][state]") {
  AgentState state = running();
  CHECK(line(state.on(ended(1, 0))).empty());
  CHECK(line(state.on(ended(0, 0))) == "end");
  CHECK(line(state.on(event::WorkersGone{})) == "report 1 succeeded");
  CHECK(line(state.on(event::VerdictGiven{Verdict::finish})) == "leave");
  CHECK(line(state.on(event::Left{})).empty());
  CHECK(state.phase() == Phase::ended);
  CHECK_FALSE(state.ending().failure);
  CHECK_FALSE(state.ending().error);
}

TEST_CASE("one failure stops the others, and a restart starts all again", "[agent][state]") {
  AgentState state = running();
  CHECK(line(state.on(killed(1, SIGKILL))) == "announce 1, signal 15, arm");
  CHECK(line(state.on(killed(0, SIGTERM))) == "end");
  CHECK(line(state.on(event::WorkersGone{})) == "report 1 failed");
  CHECK(line(state.on(event::VerdictGiven{Verdict::restart})) == "join");
  CHECK(line(state.on(formed(2))) == "start view 2");
  CHECK(line(state.on(ended(0, 0))).empty());
  CHECK(line(state.on(ended(1, 0))) == "end");
  CHECK(line(state.on(event::WorkersGone{})) == "report 2 succeeded");
  state.on(event::VerdictGiven{Verdict::finish});
  state.on(event::Left{});
  CHECK_FALSE(state.ending().failure);
}

TEST_CASE("the first failure is the one that is kept", "[agent][state]") {
  AgentState state = running();
  state.on(ended(1, 7));
  state.on(ended(0, 9));
  state.on(event::WorkersGone{});
  CHECK(line(state.on(event::VerdictGiven{Verdict::give_up})) == "leave");
  REQUIRE(state.ending().failure);
  CHECK(*state.ending().failure == WorkerFailure{1, ExitStatus::exited(7)});
}

TEST_CASE("the failure of the last worker needs no signal", "[agent][state]") {
  AgentState state = running();
  state.on(ended(0, 0));
  CHECK(line(state.on(ended(1, 3))) == "announce 1, end");
}

TEST_CASE("a hang stops all workers and counts as a failure of none of them", "[agent][state]") {
  AgentState state = running();
  CHECK(line(state.on(hang_of({1}))) == "announce hang of 1, signal 15, arm");
  CHECK(line(state.on(killed(1, SIGTERM))).empty());
  CHECK(line(state.on(ended(0, 1))) == "end");
  CHECK(line(state.on(event::WorkersGone{})) == "report 1 failed");
  REQUIRE(state.ending().hang);
  CHECK(state.ending().hang->local_ranks == std::vector<int>{1});
  CHECK_FALSE(state.ending().failure);
  SECTION("without a restart it is what ended the job") {
    CHECK(line(state.on(event::VerdictGiven{Verdict::give_up})) == "leave");
    CHECK(state.ending().hang);
  }
  SECTION("a restart forgets it") {
    CHECK(line(state.on(event::VerdictGiven{Verdict::restart})) == "join");
    state.on(formed(2));
    CHECK_FALSE(state.ending().hang);
  }
}

TEST_CASE("a hang that is found late changes nothing", "[agent][state]") {
  AgentState state = running();
  state.on(ended(1, 7));
  CHECK(line(state.on(hang_of({0}))).empty());
  CHECK_FALSE(state.ending().hang);
}

TEST_CASE("workers that hang after a notice are stopped", "[agent][state]") {
  AgentState state = running(OnTerm::notify);
  state.on(event::StopRequested{SIGTERM});
  CHECK(line(state.on(hang_of({0, 1}))) == "announce hang of 2, signal 15, arm");
  state.on(killed(0, SIGTERM));
  state.on(killed(1, SIGTERM));
  CHECK(line(state.on(event::WorkersGone{})) == "leave");
}

TEST_CASE("workers that outlast the shutdown timeout are ended", "[agent][state]") {
  AgentState state = running();
  state.on(ended(1, 1));
  CHECK(line(state.on(event::GraceExpired{})) == "end");
  CHECK(line(state.on(killed(0, SIGKILL))).empty());  // already being ended
  CHECK(line(state.on(event::WorkersGone{})) == "report 1 failed");
}

TEST_CASE("a shutdown timeout that is late changes nothing", "[agent][state]") {
  AgentState state = running();
  state.on(ended(1, 1));
  state.on(ended(0, 0));
  state.on(event::WorkersGone{});
  state.on(event::VerdictGiven{Verdict::restart});
  state.on(formed(2));
  CHECK(line(state.on(event::GraceExpired{})).empty());
  CHECK(state.phase() == Phase::running);
}

TEST_CASE("a stop signal reaches the workers, and nothing is reported", "[agent][state]") {
  AgentState state = running();
  CHECK(line(state.on(event::StopRequested{SIGINT})) == "signal 2, arm");
  state.on(ended(0, 0));
  CHECK(line(state.on(killed(1, SIGINT))) == "end");
  CHECK(line(state.on(event::WorkersGone{})) == "leave");
  state.on(event::Left{});
  CHECK(state.ending().stop_signal == SIGINT);
  CHECK_FALSE(state.ending().failure);
}

TEST_CASE("the second stop signal kills at once", "[agent][state]") {
  AgentState state = running();
  state.on(event::StopRequested{SIGTERM});
  CHECK(line(state.on(event::StopRequested{SIGINT})) == "end");
  CHECK(line(state.on(event::StopRequested{SIGINT})).empty());
  CHECK(state.ending().stop_signal == SIGTERM);
}

TEST_CASE("a notice of SIGTERM leaves the workers their time, and nothing is started again",
          "[agent][state]") {
  AgentState state = running(OnTerm::notify);
  CHECK(line(state.on(event::StopRequested{SIGTERM})) == "signal 15");
  CHECK(state.phase() == Phase::running);
  SECTION("when they end well") {
    CHECK(line(state.on(ended(0, 0))).empty());
    CHECK(line(state.on(ended(1, 0))) == "end");
    CHECK(line(state.on(event::WorkersGone{})) == "leave");
    CHECK(state.ending().stop_signal == SIGTERM);
  }
  SECTION("when one fails, the others are stopped as after any failure") {
    CHECK(line(state.on(killed(0, SIGTERM))) == "announce 0, signal 15, arm");
    state.on(ended(1, 0));
    CHECK(line(state.on(event::WorkersGone{})) == "leave");
  }
  SECTION("the second signal stops them, the third kills") {
    CHECK(line(state.on(event::StopRequested{SIGTERM})) == "signal 15, arm");
    CHECK(line(state.on(event::StopRequested{SIGINT})) == "end");
    CHECK(state.ending().stop_signal == SIGTERM);
  }
}

TEST_CASE("with notices on, other stop signals stop as ever", "[agent][state]") {
  AgentState state = running(OnTerm::notify);
  CHECK(line(state.on(event::StopRequested{SIGINT})) == "signal 2, arm");
  CHECK(line(state.on(event::StopRequested{SIGTERM})) == "end");
}

TEST_CASE("a signal for the workers is passed on as long as there are some", "[agent][state]") {
  AgentState state = running();
  CHECK(line(state.on(event::SignalForWorkers{SIGUSR1})) == "signal 10");
  CHECK(state.phase() == Phase::running);
  CHECK_FALSE(state.ending().stop_signal);
  state.on(ended(0, 1));
  CHECK(line(state.on(event::SignalForWorkers{SIGUSR1})) == "signal 10");
  state.on(ended(1, 0));
  state.on(event::WorkersGone{});
  CHECK(line(state.on(event::SignalForWorkers{SIGUSR1})).empty());
}

TEST_CASE("a stop signal after a failure prevents the restart", "[agent][state]") {
  AgentState state = running();
  state.on(ended(0, 1));
  CHECK(line(state.on(event::StopRequested{SIGTERM})) == "signal 15");
  state.on(ended(1, 0));
  CHECK(line(state.on(event::WorkersGone{})) == "leave");
}

TEST_CASE("a stop signal ends a join and a report", "[agent][state]") {
  AgentState joining(2, OnTerm::stop);
  joining.start();
  CHECK(line(joining.on(event::StopRequested{SIGTERM})) == "leave");
  CHECK(line(joining.on(formed(1))).empty());  // came too late: nothing is started

  AgentState reporting = running();
  reporting.on(ended(0, 0));
  reporting.on(ended(1, 0));
  reporting.on(event::WorkersGone{});
  CHECK(line(reporting.on(event::StopRequested{SIGTERM})) == "leave");
  CHECK(line(reporting.on(event::VerdictGiven{Verdict::restart})).empty());
}

TEST_CASE("trouble of our own leaves the job, after the workers are gone", "[agent][state]") {
  SECTION("while joining") {
    AgentState state(2, OnTerm::stop);
    state.start();
    CHECK(line(state.on(trouble())) == "leave");
    CHECK(line(state.on(event::Left{})).empty());
    CHECK(state.ending().error);
  }
  SECTION("while starting workers") {
    AgentState state = running();
    CHECK(line(state.on(trouble())) == "end");
    CHECK(line(state.on(event::WorkersGone{})) == "leave");
    CHECK(state.ending().error);
  }
  SECTION("while stopping workers") {
    AgentState state = running();
    state.on(ended(0, 1));
    CHECK(line(state.on(trouble())) == "end");
    CHECK(line(state.on(trouble())).empty());  // it is under way
    CHECK(line(state.on(event::WorkersGone{})) == "leave");
    CHECK(state.ending().error);
  }
  SECTION("when workers cannot be ended: no restart over them") {
    AgentState state = running();
    state.on(ended(0, 1));
    state.on(event::GraceExpired{});
    CHECK(line(state.on(event::WorkersStuck{trouble().error})) == "leave");
    CHECK(state.ending().error);
  }
  SECTION("while reporting") {
    AgentState state = running();
    state.on(ended(0, 0));
    state.on(ended(1, 0));
    state.on(event::WorkersGone{});
    CHECK(line(state.on(trouble())) == "leave");
  }
  SECTION("while leaving: the end all the same, and the first trouble is kept") {
    AgentState state(2, OnTerm::stop);
    state.start();
    state.on(trouble());
    CHECK(line(state.on(event::Failed{{std::make_error_code(std::errc::timed_out), "y", ""}}))
              .empty());
    CHECK(state.phase() == Phase::ended);
    CHECK(state.ending().error->context == "x");
  }
}

}  // namespace
}  // namespace rankrun::agent
