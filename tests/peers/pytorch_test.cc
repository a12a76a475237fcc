// SPDX-License-Identifier: Apache-2.0
// Unmodified PyTorch as the workers of rankrun: the oldest we serve (Debian's) and the newest.
#include "tests/support/rankrun_case.h"

#include <iostream>
#include <regex>

namespace rankrun::tests {

using Catch::Contains;

namespace {

struct Peer {
  std::string_view suffix;   // of the variables that deploy/test.sh sets
  std::string_view version;  // how torch.__version__ starts
  bool is_legacy;            // speaks the store's older dialect
};

constexpr Peer kDebian{"DEBIAN", "1.13.", true};
constexpr Peer kNewest{"NEWEST", RANKRUN_TORCH_VERSION, false};

// The peer's interpreter. When there is none, says why; ctest counts the case as skipped.
std::optional<std::string> python_of(const Peer& peer) {
  const std::string suffix(peer.suffix);
  const std::string variable = "RANKRUN_PEER_PYTHON_" + suffix;
  auto python = callers_variable(variable);
  if (python) return python;
  std::cout << "SKIPPED: "
            << callers_variable("RANKRUN_PEER_SKIP_REASON_" + suffix)
                   .value_or("set " + variable + " or run deploy/test.sh --peers")
            << std::endl;
  return std::nullopt;
}

// What the store of one attempt counted, from its line in the debug log.
struct StoreCounters {
  int modern = 0;
  int legacy = 0;
  int joined = 0;
  int first_keys = 0;
};

std::vector<StoreCounters> counters_per_attempt(const std::string& log) {
  static const std::regex line(
      R"(store closed: clients modern=(\d+) legacy=(\d+) .*joined=(\d+) .*keys first=(\d+) )");
  std::vector<StoreCounters> attempts;
  for (std::sregex_iterator it(log.begin(), log.end(), line), end; it != end; ++it) {
    const auto number = [&](std::size_t group) { return std::stoi((*it)[group]); };
    attempts.push_back({number(1), number(2), number(3), number(4)});
  }
  return attempts;
}

// Every rank spoke to our store, in its own dialect, and found it empty.
void check_counters(const StoreCounters& store, const Peer& peer) {
  constexpr int kRanks = 2;
  CHECK(store.joined == kRanks);
  CHECK((peer.is_legacy ? store.legacy : store.modern) >= kRanks);
  CHECK((peer.is_legacy ? store.modern : store.legacy) == 0);
  CHECK(store.first_keys == 0);
}

// A gloo job whose first attempt loses a rank to SIGKILL.
void restart_gloo_job(const Peer& peer) {
  const auto python = python_of(peer);
  if (!python) return;
  RankrunCase rankrun(std::chrono::seconds(100));
  rankrun.set("PYTHON_EXEC", *python);
  rankrun.set("LOGLEVEL", "DEBUG");
  const RunResult result = rankrun.run(
      {"--nproc-per-node=2", "--max-restarts=1", RANKRUN_PEER_FOLDER "/gloo_restart.py"});
  CHECK_THAT(result, ExitsWith(0));
  for (const std::string rank : {"0", "1"}) {
    CHECK_THAT(result.out, Contains(" attempt 1 rank " + rank + " sum 3"));
  }
  CHECK_THAT(result.out, Contains("PyTorch " + std::string(peer.version)));
  CHECK_THAT(result.out, !Contains(" attempt 0 "));
  CHECK_THAT(result.err, Contains("rank 1 (local rank 1") && Contains("killed by SIGKILL"));

  INFO(result.err);
  const std::vector<StoreCounters> attempts = counters_per_attempt(result.err);
  REQUIRE(attempts.size() == 2);
  check_counters(attempts[0], peer);
  check_counters(attempts[1], peer);
}

// The example that users start with.
void train_digits(const Peer& peer) {
  const auto python = python_of(peer);
  if (!python) return;
  RankrunCase rankrun(std::chrono::seconds(100));
  rankrun.set("PYTHON_EXEC", *python);
  rankrun.set("TORCHINDUCTOR_CACHE_DIR", rankrun.folder() / "inductor");  // PyTorch leaves it
  const RunResult result = rankrun.run(
      {"--nproc-per-node=2", RANKRUN_EXAMPLES_FOLDER "/train_digits/train_ddp.py", "--epochs=2"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK_THAT(result.out, Contains("PyTorch " + std::string(peer.version)));
  CHECK_THAT(result.out, Contains("epoch 2 of 2: loss ") && Contains("held-out digits"));
  CHECK(rankrun.exists("train_digits.pt"));
}

// Timers that are taken back, and one of rank 1 that expires, in the first attempt.
void expire_timer(const Peer& peer) {
  const auto python = python_of(peer);
  if (!python) return;
  RankrunCase rankrun(std::chrono::seconds(100));
  rankrun.set("PYTHON_EXEC", *python);
  rankrun.set("TORCHELASTIC_ENABLE_FILE_TIMER", "1");
  const RunResult result = rankrun.run(
      {"--nproc-per-node=2", "--max-restarts=1", RANKRUN_PEER_FOLDER "/file_timers.py"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK_THAT(result.err, Contains("timer 'stuck' of rank 1 (pid ") && Contains("sent SIGKILL"));
  CHECK_THAT(result.err, Contains("killed by SIGKILL: timer 'stuck' of pid "));
  CHECK_THAT(result.err, !Contains("in time"));
  CHECK_THAT(result.err, !Contains("sets no timer"));
  CHECK_THAT(result.out, Contains("rank 0 in attempt 1") && Contains("rank 1 in attempt 1"));
}

}  // namespace

TEST_CASE("PyTorch of Debian runs gloo through a restart on our store", "[peer][pytorch]") {
  restart_gloo_job(kDebian);
}

TEST_CASE("the newest PyTorch runs gloo through a restart on our store", "[peer][pytorch]") {
  restart_gloo_job(kNewest);
}

TEST_CASE("a timer of the newest PyTorch that expires ends its worker", "[peer][pytorch]") {
  expire_timer(kNewest);
}

TEST_CASE("the example trains on PyTorch of Debian", "[peer][pytorch]") {
  train_digits(kDebian);
}

TEST_CASE("the example trains on the newest PyTorch", "[peer][pytorch]") {
  train_digits(kNewest);
}

}  // namespace rankrun::tests
