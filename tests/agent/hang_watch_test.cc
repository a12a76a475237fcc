// SPDX-License-Identifier: Apache-2.0
#include "agent/hang_watch.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace rankrun::agent {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Workers that a test changes between looks, one second apart.
class Watched {
 public:
  explicit Watched(std::size_t workers, base::Duration limit = seconds(20))
      : samples(workers), watch_(limit, workers, now_) {}

  // The look after a pause.
  std::optional<Hang> look(base::Duration pause = seconds(1)) {
    now_ += pause;
    return watch_.look(samples, now_);
  }

  // Looks every interval, after each step, until a hang is found; how long that took.
  template <typename Step>
  base::Duration time_to_hang(Step step, base::Duration most = seconds(200)) {
    for (base::Duration passed = watch_.interval(); passed < most; passed += watch_.interval()) {
      step();
      if (look(watch_.interval())) return passed;
    }
    return base::Duration::max();
  }

  void beat(std::size_t worker) {
    samples[worker].heartbeat = std::filesystem::file_time_type(seconds(++beats_));
  }
  void write(std::size_t worker) { samples[worker].last_output = now_; }

  const HangWatch& watch() const { return watch_; }

  std::vector<WorkerSample> samples;

 private:
  base::TimePoint now_{seconds(1000)};
  HangWatch watch_;
  int beats_ = 0;
};

std::vector<int> ranks(const std::optional<Hang>& hang) {
  return hang ? hang->local_ranks : std::vector<int>{};
}

constexpr auto kNothing = [] {};
constexpr base::Duration kNever = base::Duration::max();

TEST_CASE("workers that do nothing for the limit hang, all of them", "[agent][hang]") {
  Watched watched(2);
  for (int i = 1; i < 20; ++i) {
    CHECK_FALSE(watched.look());
  }
  const auto hang = watched.look();
  CHECK(ranks(hang) == std::vector<int>{0, 1});
  CHECK(hang->silence == seconds(20));
}

TEST_CASE("the pause between looks follows the limit within bounds", "[agent][hang]") {
  CHECK(Watched(1, milliseconds(1)).watch().interval() == milliseconds(10));
  CHECK(Watched(1, seconds(3)).watch().interval() == milliseconds(300));
  CHECK(Watched(1, hours(1)).watch().interval() == seconds(1));
}

TEST_CASE("output starts the time anew", "[agent][hang]") {
  Watched watched(1);
  watched.time_to_hang(kNothing, seconds(20));
  watched.write(0);
  CHECK_FALSE(watched.look());
  CHECK(watched.time_to_hang(kNothing) == seconds(20));
}

TEST_CASE("a rank that waits for one that makes progress does not hang", "[agent][hang]") {
  Watched watched(3);
  const auto write = [&] { watched.write(1); };
  const auto compute = [&] { watched.samples[2].cpu += milliseconds(500); };
  SECTION("by output") {
    CHECK(watched.time_to_hang(write) == kNever);
  }
  SECTION("by CPU time") {
    CHECK(watched.time_to_hang(compute) == kNever);
  }
  CHECK(watched.watch().silence(0).any > seconds(100));
}

TEST_CASE("any use of the CPU above one percent is progress", "[agent][hang]") {
  const auto uses = [](base::Duration limit, base::Duration per_look) {
    Watched watched(1, limit);
    return watched.time_to_hang([&] { watched.samples[0].cpu += per_look; });
  };
  CHECK(uses(seconds(20), milliseconds(1000)) == kNever);
  CHECK(uses(seconds(20), milliseconds(11)) == kNever);
  CHECK(uses(seconds(20), milliseconds(10)) == kNever);
  CHECK(uses(seconds(20), milliseconds(9)) == seconds(20));
  CHECK(uses(milliseconds(300), milliseconds(1)) == kNever);
}

TEST_CASE("time in ticks is no more than it is", "[agent][hang]") {
  Watched watched(1);
  int looks = 0;
  const auto ticks = [&](int every, int count) {
    return watched.time_to_hang([&, every, count] {
      if (++looks % every == 0) watched.samples[0].cpu += milliseconds(10 * count);
    });
  };
  SECTION("a thread that wakes now and then") {
    CHECK(ticks(10, 1) == seconds(20));
  }
  SECTION("one whose user and system time show at once") {
    CHECK(ticks(10, 2) == seconds(20));
  }
  SECTION("a burst after a long wait") {
    CHECK(ticks(15, 4) == kNever);
  }
}

TEST_CASE("processes that end take nothing away from what is used later", "[agent][hang]") {
  Watched watched(1);
  int looks = 0;
  CHECK(watched.time_to_hang([&] {
    watched.samples[0].cpu = ++looks % 2 == 0 ? milliseconds(900) : milliseconds(100);
  }) == kNever);
}

TEST_CASE("who sends heartbeats is judged by them alone", "[agent][hang]") {
  Watched watched(2);
  watched.beat(1);
  const auto work = [&] {
    watched.write(0);
    watched.write(1);
    watched.samples[1].cpu += seconds(1);
  };
  const auto beat = [&] { watched.beat(1); };
  const auto beat_before = [&] { *watched.samples[1].heartbeat -= hours(1); };
  const auto back = [&] { watched.write(0); };
  SECTION("one that stops sending hangs, whatever it and others do") {
    CHECK(watched.time_to_hang(work, seconds(21)) == kNever);
    const auto hang = watched.look();
    CHECK(ranks(hang) == std::vector<int>{1});
    CHECK(hang->silence == seconds(20));
  }
  SECTION("one that goes on is well, and those that wait for it, too") {
    CHECK(watched.time_to_hang(beat) == kNever);
  }
  SECTION("a file that is removed is no heartbeat") {
    CHECK_FALSE(watched.look());
    watched.samples[1].heartbeat.reset();
    CHECK(watched.time_to_hang(back) == seconds(20));
    CHECK(watched.watch().silence(1).heartbeat == seconds(20));
  }
  SECTION("the clock of its file system does not matter") {
    CHECK(watched.time_to_hang(beat_before) == kNever);
  }
}

TEST_CASE("workers that have ended hang no more", "[agent][hang]") {
  Watched watched(2);
  watched.beat(0);
  watched.samples[0].is_live = false;
  watched.time_to_hang([&] { watched.write(1); }, seconds(100));
  CHECK(watched.time_to_hang(kNothing) == seconds(20));
  CHECK(ranks(watched.look()) == std::vector<int>{1});
}

TEST_CASE("time in which nobody looked is not held against the workers", "[agent][hang]") {
  Watched watched(1);
  CHECK_FALSE(watched.look(hours(10)));
  CHECK(watched.watch().silence(0).any == seconds(2));
  CHECK(watched.time_to_hang(kNothing) == seconds(18));
}

}  // namespace
}  // namespace rankrun::agent
