// SPDX-License-Identifier: Apache-2.0
// --redirects, --tee, --fold, filters and prefixes: where the output of workers goes (torchrun.md
// 3.2 to 3.4).
#include "tests/support/pipe.h"
#include "tests/support/rankrun_case.h"

#include <unistd.h>

#include <algorithm>

namespace rankrun::tests {

using Catch::Contains;
using Catch::StartsWith;
using Catch::UnorderedEquals;

namespace {

namespace fs = std::filesystem;

constexpr auto kBothStreams = "echo \"out $RANK\"; echo \"err $RANK\" >&2";

std::vector<std::string> worker_run(std::vector<std::string> options) {
  options.insert(options.end(), {"--nproc-per-node=2", "--no-python", "./worker"});
  return options;
}

// The folder of the only run below --log-dir=logs.
fs::path run_folder(const RankrunCase& rankrun) {
  const auto entries = fs::directory_iterator(rankrun.folder() / "logs");
  REQUIRE(entries != fs::directory_iterator());
  return entries->path().lexically_relative(rankrun.folder());
}

struct Setup {
  Setup() { rankrun.set("OMP_NUM_THREADS", "1"); }  // no warning among the lines
  RankrunCase rankrun;

  RunResult run(const std::vector<std::string>& options, const std::string& worker = kBothStreams) {
    rankrun.write_worker(worker);
    RunResult result = rankrun.run(worker_run(options));
    CHECK_THAT(result, ExitsWith(0));
    return result;
  }
  std::string log(const std::string& name) const {
    return rankrun.read(run_folder(rankrun) / "attempt_0" / name);
  }
  bool has_log(const std::string& name) const {
    return rankrun.exists(run_folder(rankrun) / "attempt_0" / name);
  }
};

}  // namespace

TEST_CASE("redirected streams go to their files only", "[e2e][output]") {
  Setup setup;
  const RunResult result = setup.run({"--log-dir=logs", "-r", "0:3,1:1"});
  CHECK(result.out.empty());
  CHECK(result.err == "err 1\n");
  CHECK(setup.log("0/stdout.log") == "out 0\n");
  CHECK(setup.log("0/stderr.log") == "err 0\n");
  CHECK(setup.log("1/stdout.log") == "out 1\n");
  CHECK_FALSE(setup.has_log("1/stderr.log"));
}

TEST_CASE("tee'd streams go to their files and, with a prefix, to the console", "[e2e][output]") {
  Setup setup;
  const RunResult result = setup.run({"--log-dir=logs", "--tee=3", "-r3", "--role=trainer"});
  CHECK_THAT(lines_of(result.out),
             UnorderedEquals(std::vector<std::string>{"[trainer0]:out 0", "[trainer1]:out 1"}));
  CHECK_THAT(lines_of(result.err),
             UnorderedEquals(std::vector<std::string>{"[trainer0]:err 0", "[trainer1]:err 1"}));
  CHECK(setup.log("1/stdout.log") == "out 1\n");
  CHECK(setup.log("0/stderr.log") == "err 0\n");
}

TEST_CASE("ranks that may not reach the console", "[e2e][output]") {
  Setup setup;
  SECTION("write untouched streams to nowhere") {
    const RunResult result = setup.run({"--local-ranks-filter=1"});
    CHECK(result.out == "out 1\n");
    CHECK(result.err == "err 1\n");
  }
  SECTION("have their files all the same") {
    const RunResult result = setup.run({"--log-dir=logs", "--local-ranks-filter=1", "-t3"});
    CHECK(result.out == "[default1]:out 1\n");
    CHECK(result.err == "[default1]:err 1\n");
    CHECK(setup.log("0/stdout.log") == "out 0\n");
  }
}

TEST_CASE("without log files tee still shows lines with a prefix, and nothing is hidden",
          "[e2e][output]") {
  Setup setup;
  const RunResult result = setup.run({"--log-dir=/dev/null", "--tee=1", "--redirects=2"});
  CHECK_THAT(lines_of(result.out),
             UnorderedEquals(std::vector<std::string>{"[default0]:out 0", "[default1]:out 1"}));
  CHECK_THAT(lines_of(result.err), UnorderedEquals(std::vector<std::string>{"err 0", "err 1"}));
}

TEST_CASE("without a log directory logs are removed after success and kept after a failure",
          "[e2e][output]") {
  Setup setup;
  CHECK(setup.run({"--redirects=3"}).out.empty());
  CHECK(fs::is_empty(setup.rankrun.temp_folder()));
  setup.rankrun.write_worker("echo 'the reason'; exit 9");
  const RunResult result = setup.rankrun.run({"--redirects=1", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(9));
  const auto kept = fs::directory_iterator(setup.rankrun.temp_folder())->path();
  CHECK_THAT(result.err, Contains("are kept in " + kept.string() + "\n"));
  const auto log =
      (kept / "attempt_0_rank_0_stdout.log").lexically_relative(setup.rankrun.folder());
  CHECK(setup.rankrun.read(log) == "the reason\n");
  setup.rankrun.empty_temp_folder();
}

TEST_CASE("a failure shows the last stderr lines wherever they went", "[e2e][output]") {
  const std::string option =
      GENERATE("--redirects=2", "--tee=2", "--local-ranks-filter=7", "--fold");
  INFO(option);
  RankrunCase rankrun;
  rankrun.write_worker("echo 'out of memory' >&2; exit 7");
  const RunResult result = rankrun.run({option, "--log-dir=logs", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(7));
  CHECK_THAT(result.err, Contains("\n  stderr    : its last lines\n    out of memory\n"));
}

TEST_CASE("the prefix template has its macros, and unknown ones stay", "[e2e][output]") {
  Setup setup;
  setup.rankrun.write_worker("echo x");
  const std::string prefix =
      "$rank.${local_rank} ${role_name} ${nope} $$ ${time} ${hostname}=${host}|";
  const RunResult result = setup.rankrun.run(
      {"--tee=1", "--role=r", "--log-line-prefix-template=" + prefix, "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK_THAT(result.out,
             Catch::Matches(R"(0\.0 r \$\{nope\} \$ \d\d:\d\d:\d\d\.\d{3} ([^.=]+)=\1\|x\n)"));
}

TEST_CASE("filtered lines of tee'd streams are written once more", "[e2e][output]") {
  Setup setup;
  setup.run({"--log-dir=logs",
             "--tee=1",
             "--duplicate-stdout-filters=loss,accuracy",
             "--duplicate-stderr-filters=err"},
            "echo \"loss $RANK\"; echo other; echo err >&2");
  CHECK_THAT(lines_of(setup.log("filtered_stdout.log")),
             UnorderedEquals(std::vector<std::string>{"[default0]:loss 0", "[default1]:loss 1"}));
  CHECK(setup.log("filtered_stderr.log").empty());  // stderr is not tee'd
}

TEST_CASE("equal lines of several ranks are folded into one", "[e2e][output]") {
  Setup setup;
  // One process writes to the streams of both, so that no delay of the machine comes in between.
  const RunResult result = setup.run({"--fold"}, R"(
if [ "$RANK" = 1 ]; then echo $$ >pid; until [ -e done ]; do sleep 0.02; done; exit 0; fi
until [ -s pid ]; do sleep 0.02; done
echo same; echo same >/proc/$(cat pid)/fd/1
echo warning >&2; echo warning >/proc/$(cat pid)/fd/2
echo 'mine: 0'; echo 'mine: 1' >/proc/$(cat pid)/fd/1
touch done)");
  CHECK_THAT(result.out, Contains("[ranks 0-1]: same\n"));
  CHECK_THAT(result.out, Contains("[default0]:mine: 0\n") && Contains("[default1]:mine: 1\n"));
  CHECK(result.err == "[ranks 0-1]: warning\n");
}

TEST_CASE("any bytes reach the console and the file unchanged", "[e2e][output]") {
  Setup setup;
  const std::string bytes("\x1b[31mred\x07\0\xff\xc3(\x80\ttab\n\nend", 23);
  setup.rankrun.write("bytes", bytes);
  setup.rankrun.write_worker("cat bytes");
  CHECK_THAT(setup.rankrun.run({"--tee=1", "--log-dir=logs", "--no-python", "./worker"}),
             ExitsWith(0));
  CHECK(setup.log("0/stdout.log") == bytes);
  std::string shown = "[default0]:" + bytes;
  shown.insert(shown.find("\n\n") + 1, "[default0]:");
  shown.insert(shown.rfind('\n') + 1, "[default0]:");
  CHECK(setup.rankrun.read("rankrun.out") == shown);
}

TEST_CASE("100 MB without a newline pass with one prefix", "[e2e][output]") {
  constexpr std::size_t kBytes = 100'000'000;
  RankrunCase rankrun;
  rankrun.write_worker("head -c 100000000 /dev/zero; grep VmHWM /proc/$PPID/status >memory");
  const RunResult result = rankrun.run({"--tee=1", "--log-dir=logs", "--no-python", "./worker"});
  CHECK(result.status == agent::ExitStatus::exited(0));
  const std::string prefix = "[default0]:";
  REQUIRE(result.out.size() == prefix.size() + kBytes);
  CHECK_THAT(result.out.substr(0, 20), StartsWith(prefix));
  CHECK(result.out.find_first_not_of('\0', prefix.size()) == std::string::npos);
  CHECK(std::stoul(rankrun.read("memory").substr(6)) <= kMostKib);
}

TEST_CASE("lines that a child writes after its worker's death are not lost", "[e2e][output]") {
  RankrunCase rankrun;
  rankrun.write_worker(R"(
if [ "$RANK" = 1 ]; then trap 'exit 0' TERM; until [ -e done ]; do sleep 0.02; done; exit 0; fi
(trap '' TERM; until [ -e dead ]; do sleep 0.02; done
 i=0; while [ $i -lt 1000 ]; do echo "line $i"; i=$((i + 1)); done; touch done) &
touch ready
exit 0)");
  rankrun.set("OMP_NUM_THREADS", "1");
  rankrun.start(worker_run({"--tee=1", "--log-dir=logs"}));
  rankrun.wait_for_file("ready");
  rankrun.write("dead", "");
  const RunResult result = rankrun.wait();
  CHECK_THAT(result, ExitsWith(0));
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    expected += "[default0]:line " + std::to_string(i) + "\n";
  }
  CHECK(result.out == expected);
}

TEST_CASE("lines do not mix where stdout and stderr are one place", "[e2e][output]") {
  RankrunCase rankrun;
  rankrun.before_exec([] { ::dup2(STDOUT_FILENO, STDERR_FILENO); });
  rankrun.write_worker(R"(
if [ "$RANK" = 0 ]; then
  printf 'progress 10%%'
  touch started
  until [ -e go ]; do sleep 0.02; done
  echo ' done'
else
  until [ -e go ]; do sleep 0.02; done
  echo 'an error' >&2
fi)");
  rankrun.start({"--tee=3", "--nproc-per-node=2", "--threads=1", "--no-python", "./worker"});
  rankrun.wait_until("the unfinished line",
                     [&] { return rankrun.read("rankrun.out").find("10%") != std::string::npos; });
  rankrun.write("go", "");
  const RunResult result = rankrun.wait();
  CHECK_THAT(result, ExitsWith(0));
  for (const std::string& line : lines_of(result.out)) {
    INFO(result.out);
    CHECK(line.find("[default") == line.rfind("[default"));  // one prefix
    CHECK_THAT(line, StartsWith("[default"));
  }
}

TEST_CASE("output that a stalled console loses stays in the log files, and rankrun says so",
          "[e2e][output]") {
  RankrunCase rankrun;
  Pipe console;
  rankrun.before_exec([fd = console.write_end.get()] { ::dup2(fd, STDOUT_FILENO); });
  rankrun.write_worker("seq 1 500000; echo END");
  rankrun.start({"--tee=1", "--no-python", "./worker"});
  console.write_end.reset();
  const RunResult result = rankrun.wait();
  CHECK_THAT(result, ExitsWith(0));
  CHECK_THAT(result.err, Contains("stdout took nothing for 5 s"));
  CHECK_THAT(result.err, Contains("are kept in " + rankrun.temp_folder().string()));
  rankrun.empty_temp_folder();
}

}  // namespace rankrun::tests
