// SPDX-License-Identifier: Apache-2.0
#include "agent/line_fold.h"

#include <catch2/catch.hpp>

#include <array>
#include <random>
#include <string>
#include <vector>

namespace rankrun::agent {
namespace {

constexpr base::TimePoint kStart{};
constexpr auto kLater = kStart + LineFold::kWindow;

LineFold of_sources(int count) {
  LineFold fold;
  for (SourceId source = 0; source < count; ++source) {
    fold.open(source);
  }
  return fold;
}

// What is due: "0,1:text" per line.
std::vector<std::string> taken(LineFold& fold, base::TimePoint now) {
  std::vector<std::string> lines;
  while (const auto line = fold.take(now)) {
    std::string text;
    for (const SourceId source : line->sources) {
      text += (text.empty() ? "" : ",") + std::to_string(source);
    }
    lines.push_back(text + ":" + line->text);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("a line that all sources have written is due at once", "[agent][fold]") {
  LineFold fold = of_sources(3);
  fold.add(0, "same\n", kStart);
  fold.add(2, "same\n", kStart);
  CHECK(taken(fold, kStart).empty());
  CHECK(fold.next_due() == kLater);
  fold.add(1, "same\n", kStart);
  CHECK(taken(fold, kStart) == Lines{"0,2,1:same\n"});
  CHECK_FALSE(fold.next_due());
}

TEST_CASE("a line that the others do not write is due when the window is over", "[agent][fold]") {
  LineFold fold = of_sources(2);
  fold.add(0, "mine\n", kStart);
  CHECK(taken(fold, kLater - base::Duration(1)).empty());
  CHECK(taken(fold, kLater) == Lines{"0:mine\n"});
}

TEST_CASE("the lines of a source keep their order", "[agent][fold]") {
  LineFold fold = of_sources(2);
  fold.add(0, "a\nb\n", kStart);
  fold.add(1, "b\na\n", kStart);  // its a must not go before its b
  CHECK(taken(fold, kLater) == Lines{"0:a\n", "0,1:b\n", "1:a\n"});
}

TEST_CASE("a source that repeats a line is shown as often", "[agent][fold]") {
  LineFold fold = of_sources(2);
  fold.add(0, "x\nx\n", kStart);
  fold.add(1, "x\n", kStart);
  CHECK(taken(fold, kLater) == Lines{"0,1:x\n", "0:x\n"});
}

TEST_CASE("parts of a line are due at once with all that came before them", "[agent][fold]") {
  LineFold fold = of_sources(2);
  fold.add(0, "before\n", kStart);
  fold.add(1, "other\n", kStart);
  fold.add(0, "name? ", kStart);
  CHECK(taken(fold, kStart) == Lines{"0:before\n", "1:other\n", "0:name? "});
  fold.add(1, "joe\n", kStart);
  fold.add(0, "joe\n", kStart);  // the end of a line, not a line
  CHECK(taken(fold, kStart) == Lines{"1:joe\n", "0:joe\n"});
}

TEST_CASE("what a source has written is due when it leaves", "[agent][fold]") {
  LineFold fold = of_sources(3);
  fold.add(1, "first\n", kStart);
  fold.add(0, "last words\n", kStart);
  fold.add(1, "second\n", kStart);
  fold.close(0);
  CHECK(taken(fold, kStart) == Lines{"1:first\n", "0:last words\n"});
  CHECK(taken(fold, kLater) == Lines{"1:second\n"});
  fold.add(1, "two are left\n", kStart);
  fold.add(2, "two are left\n", kStart);
  CHECK(taken(fold, kStart) == Lines{"1,2:two are left\n"});
}

TEST_CASE("no more is held back than the limit", "[agent][fold]") {
  LineFold fold = of_sources(2);
  const std::string line = std::string(1000, 'x') + '\n';
  std::size_t shown = 0;
  constexpr std::size_t kLines = 10 * LineFold::kMostBytes / 1000;
  for (std::size_t i = 0; i < kLines; ++i) {
    fold.add(0, line, kStart);
    shown += taken(fold, kStart).size();
  }
  CHECK(shown >= kLines - LineFold::kMostBytes / 1000 - 1);
  CHECK(shown + taken(fold, kLater).size() == kLines);
}

TEST_CASE("whatever is folded, every source's lines come once and in order", "[agent][fold]") {
  std::mt19937 random(1);
  constexpr int kSources = 4;
  LineFold fold = of_sources(kSources);
  std::array<std::string, kSources> written;
  std::array<std::string, kSources> shown;
  base::TimePoint now = kStart;
  const auto show = [&] {
    while (const auto line = fold.take(now)) {
      for (const SourceId source : line->sources) {
        shown.at(static_cast<std::size_t>(source)) += line->text;
      }
    }
  };
  for (int step = 0; step < 5000; ++step) {
    const auto source = random() % kSources;
    const std::string text(1, static_cast<char>('a' + random() % 3));
    const std::string piece = text + (random() % 8 == 0 ? "" : "\n");
    fold.add(static_cast<SourceId>(source), piece, now);
    written.at(source) += piece;
    now += std::chrono::milliseconds(random() % 20);
    show();
  }
  now += LineFold::kWindow;
  show();
  CHECK(shown == written);
}

}  // namespace
}  // namespace rankrun::agent
