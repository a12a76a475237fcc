// SPDX-License-Identifier: Apache-2.0
#include "agent/line_merge.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

constexpr SourceId kA = 0;
constexpr SourceId kB = 1;

class Shown {
 public:
  Shown& a(std::string_view text) { return add({kA, "A:", text}); }
  Shown& b(std::string_view text) { return add({kB, "B:", text}); }
  Shown& plain(SourceId source, std::string_view text) { return add({source, "", text}); }
  Shown& own(std::string_view text) { return add({kOwnSource, "", text}); }
  const std::string& text() const { return text_; }

 private:
  Shown& add(const SourceText& piece) {
    lines_.add(piece, text_);
    return *this;
  }
  LineMerge lines_;
  std::string text_;
};

TEST_CASE("each line gets its prefix once", "[agent][merge]") {
  CHECK(Shown().a("1\n2\n").b("3\n").a("\n").text() == "A:1\nA:2\nB:3\nA:\n");
}

TEST_CASE("an unfinished line goes on without a second prefix", "[agent][merge]") {
  CHECK(Shown().a("con").a("tinue").a("d\nnext").a("\n").text() == "A:continued\nA:next\n");
}

TEST_CASE("who interrupts an unfinished line starts a new one, and so does its owner then",
          "[agent][merge]") {
  CHECK(Shown().a("one").b("two\n").a("more\n").text() == "A:one\nB:two\nA:more\n");
  CHECK(Shown().a("one").b("two").a("more\n").text() == "A:one\nB:two\nA:more\n");
  CHECK(Shown().a("one").own("log\n").a("more\n").text() == "A:one\nlog\nA:more\n");
  CHECK(Shown().plain(kA, "50 %").own("log\n").plain(kB, "x\n").text() == "50 %\nlog\nx\n");
}

TEST_CASE("bytes pass unchanged", "[agent][merge]") {
  const std::string bytes("\0\x1b[31m\xff\xfe\t\x7f\n", 11);
  CHECK(Shown().a(bytes).text() == "A:" + bytes);
  CHECK(Shown().plain(kA, bytes).text() == bytes);
}

TEST_CASE("a progress bar with a prefix keeps it on every visible state", "[agent][merge]") {
  CHECK(Shown().a("\r 0%").a("\r10%").a("\r20%\n").a("done\n").text() ==
        "\rA: 0%\rA:10%\rA:20%\nA:done\n");
  CHECK(Shown().a("0%\r").a("10%\r").a("20%\n").text() == "A:0%\rA:10%\rA:20%\n");
  CHECK(Shown().a("0%\r10%").b("x\n").a("\r20%\n").text() == "A:0%\rA:10%\nB:x\n\rA:20%\n");
}

TEST_CASE("a carriage return before a newline needs no prefix of its own", "[agent][merge]") {
  CHECK(Shown().a("dos\r\nlines\r\n").text() == "A:dos\r\nA:lines\r\n");
  CHECK(Shown().a("dos").a("\r\n").text() == "A:dos\r\n");
  CHECK(Shown().a("\r\n").text() == "\rA:\n");
}

TEST_CASE("progress bars without prefix write over each other as on a shared terminal",
          "[agent][merge]") {
  CHECK(Shown().plain(kA, "\r10%").plain(kB, "\r20%").plain(kA, "\r30%").own("log\n").text() ==
        "\r10%\r20%\r30%\nlog\n");
}

}  // namespace
}  // namespace rankrun::agent
