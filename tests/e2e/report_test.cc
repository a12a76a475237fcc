// SPDX-License-Identifier: Apache-2.0
// What a job leaves for people, programs and the launcher above: the final block with error files
// and hints, --report, a forwarded error file, and --exit-code=torchrun (torchrun.md 3.5 to 3.9).
#include "tests/support/rankrun_case.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <fstream>
#include <iterator>
#include <regex>

namespace rankrun::tests {

using Catch::Contains;
using nlohmann::json;

namespace {

// What differs between two runs of the same job.
std::string normalized(std::string text) {
  const std::vector<std::pair<const char*, const char*>> places = {
      {R"(\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d)", "TIME"},
      {R"((  host      : ).*)", "$1HOST"},
      {R"(\(pid: \d+\))", "(pid: PID)"}};
  for (const auto& [pattern, name] : places) {
    text = std::regex_replace(text, std::regex(pattern), name);
  }
  return text;
}

// What stands between the markers in README.md, without its fence.
std::string report_in_readme() {
  std::ifstream file(RANKRUN_README);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string begin = "<!-- failure report -->\n```\n";
  const std::size_t start = text.find(begin);
  const std::size_t end = text.find("```\n<!-- end of the failure report -->");
  REQUIRE(start != std::string::npos);
  REQUIRE(end != std::string::npos);
  return text.substr(start + begin.size(), end - start - begin.size());
}

std::string block_of(const RunResult& result) {
  const std::size_t start = result.err.find("====");
  return start == std::string::npos ? std::string() : result.err.substr(start);
}

// A worker that fails with 3 after `body`, which may write an error file.
RunResult run_failing(RankrunCase& rankrun, const std::string& body) {
  rankrun.write_worker(body + "\nexit 3");
  return rankrun.run({"--report=report.json", "--log-dir=logs", "--no-python", "./worker"});
}

constexpr auto kWriteException = R"(
cat >"$TORCHELASTIC_ERROR_FILE" <<'END'
{"message": {"message": "ValueError: 3 is odd",
 "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  File \"a.py\"\nValueError: 3 is odd\n",
 "timestamp": "1700000000"}}}
END)";

}  // namespace

TEST_CASE("README shows the report of a failed job as it is", "[e2e][report]") {
  RankrunCase rankrun;
  rankrun.set("PYTHON_EXEC", rankrun.write_program("python3", R"(
if [ "$RANK" != 3 ]; then exec sleep 1000; fi
cat >&2 <<'END'
step 41: loss 0.8312
Traceback (most recent call last):
  File "train.py", line 57, in <module>
    loss = train_step(model, batch)
           ^^^^^^^^^^^^^^^^^^^^^^^^
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
END
exit 1)"));
  rankrun.write("train.py", "");
  const RunResult result = rankrun.run({"--nproc-per-node=4", "train.py"});
  CHECK_THAT(result, ExitsWith(1));
  CHECK(normalized(block_of(result)) == normalized(report_in_readme()));
}

TEST_CASE("an error file's message and call stack are in both reports", "[e2e][report]") {
  RankrunCase rankrun;
  const RunResult result = run_failing(rankrun, kWriteException);
  CHECK_THAT(result, ExitsWith(3));
  CHECK_THAT(block_of(result),
             Contains("\n  message   : ValueError: 3 is odd\n") &&
                 Contains("\n  traceback : Traceback (most recent call last):\n"
                          "    File \"a.py\"\n  ValueError: 3 is odd\n"));
  const json report = json::parse(rankrun.read("report.json"));
  CHECK(report["workers"][0]["message"] == "ValueError: 3 is odd");
  CHECK_THAT(result.err, Contains("exited with 3: ValueError: 3 is odd\n"));
}

TEST_CASE("whatever lies where an error file should be, the report is there", "[e2e][report]") {
  RankrunCase rankrun;
  const auto [body, why] = GENERATE(table<std::string, std::string>({
      {R"(: >"$TORCHELASTIC_ERROR_FILE")", "it is empty"},
      {R"(printf '{"message": {"mess' >"$TORCHELASTIC_ERROR_FILE")", "it is not JSON"},
      {R"(printf '{"message": "\377"}' >"$TORCHELASTIC_ERROR_FILE")", "it is not JSON"},
      {R"(echo '[7]' >"$TORCHELASTIC_ERROR_FILE")", "it has no \"message\""},
      {R"(truncate -s 1G "$TORCHELASTIC_ERROR_FILE")", "it is larger than 1 MiB"},
      {R"(head -c 1000000 /dev/zero | tr '\0' '[' >"$TORCHELASTIC_ERROR_FILE")",
       "it nests too deep"},
      {R"(mkdir "$TORCHELASTIC_ERROR_FILE")", "it is not a regular file"},
      {R"(mkfifo "$TORCHELASTIC_ERROR_FILE")", "it is not a regular file"},
      {R"(ln -s /etc/passwd "$TORCHELASTIC_ERROR_FILE")", "it is a link"},
  }));
  INFO(body);
  const RunResult result = run_failing(rankrun, "echo last words >&2\n" + body);
  CHECK_THAT(result, ExitsWith(3));
  CHECK_THAT(block_of(result),
             Contains("\n  traceback : error file is not valid: " + why + "\n") &&
                 Contains("\n    last words\n"));
  const json report = json::parse(rankrun.read("report.json"));
  CHECK(report["workers"][0]["error_file"]["invalid"] == why);
}

TEST_CASE("hostile text of a worker reaches no terminal", "[e2e][report]") {
  RankrunCase rankrun;
  const RunResult result = run_failing(rankrun, R"sh(
xs=$(head -c 100000 /dev/zero | tr '\0' x)
printf '{"message": "\\u001b[2J%s"}' "$xs" >"$TORCHELASTIC_ERROR_FILE")sh");
  CHECK_THAT(result, ExitsWith(3));
  CHECK_THAT(block_of(result), Contains("\\x1b[2Jxxx") && !Contains("\x1b"));
  CHECK(block_of(result).size() < 10000);
}

TEST_CASE("the report file tells of success, a stop and trouble of rankrun's own",
          "[e2e][report]") {
  RankrunCase rankrun;
  std::vector<std::string> arguments{"--report=report.json", "--no-python", "true"};
  int code = 0;
  json expected{{"result", "succeeded"}, {"origin", "worker"}, {"reason", ""}};
  SECTION("success") {
    CHECK_THAT(rankrun.run(arguments), ExitsWith(0));
  }
  SECTION("a stop") {
    code = 128 + SIGTERM;
    expected = {{"result", "stopped"}, {"origin", "launcher"}, {"reason", "rankrun got SIGTERM"}};
    rankrun.write_worker("touch ready; exec sleep 1000");
    arguments.back() = "./worker";
    rankrun.start(arguments);
    rankrun.wait_for_file("ready");
    rankrun.signal(SIGTERM);
    CHECK_THAT(rankrun.wait(), ExitsWith(code));
  }
  SECTION("a program that is not there") {
    code = 127;
    expected = {{"result", "error"}, {"origin", "launcher"}};
    arguments.back() = "./no_such_program";
    CHECK_THAT(rankrun.run(arguments), ExitsWith(code));
  }
  const json report = json::parse(rankrun.read("report.json"));
  CHECK(report["exit_code"] == code);
  for (const auto& [name, value] : expected.items()) {
    CHECK(report[name] == value);
  }
}

TEST_CASE("a report that cannot be written costs one line and no exit code", "[e2e][report]") {
  RankrunCase rankrun;
  rankrun.write("file", "");
  const std::string path = GENERATE("no/folder/report.json", "file/report.json", "/dev/full", ".");
  const RunResult result = rankrun.run({"--report=" + path, "--no-python", "true"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(lines_of(result.err).size() == 1);
  CHECK_THAT(result.err, Contains("'" + path + "'"));
}

TEST_CASE("the launcher above gets the root cause's error file", "[e2e][report]") {
  RankrunCase rankrun;
  rankrun.set("TORCHELASTIC_ERROR_FILE", rankrun.folder() / "parent.json");
  CHECK_THAT(run_failing(rankrun, kWriteException), ExitsWith(3));
  const json forwarded = json::parse(rankrun.read("parent.json"));
  CHECK(forwarded["message"]["message"] == "ValueError: 3 is odd");
  CHECK(forwarded["message"]["errorCode"] == 3);
  CHECK(forwarded["message"]["extraInfo"]["timestamp"] == "1700000000");
  CHECK_THAT(run_failing(rankrun, kWriteException).err, Contains("overwriting it"));
}

TEST_CASE("a rankrun within a rankrun passes its worker's error on", "[e2e][report]") {
  RankrunCase rankrun;
  rankrun.write_worker(std::string(kWriteException) + "\nexit 3");
  const RunResult result = rankrun.run(
      {"--report=report.json", "--no-python", RANKRUN_BINARY, "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(3));
  const json outer = json::parse(rankrun.read("report.json"));
  CHECK(outer["workers"][0]["message"] == "ValueError: 3 is odd");
  rankrun.empty_temp_folder();
}

TEST_CASE("the launcher above is told of rankrun's own trouble", "[e2e][report]") {
  RankrunCase rankrun;
  rankrun.set("TORCHELASTIC_ERROR_FILE", rankrun.folder() / "parent.json");
  CHECK_THAT(rankrun.run({"--no-python", "./no_such_program"}), ExitsWith(127));
  const json told = json::parse(rankrun.read("parent.json"));
  CHECK_THAT(told["message"]["message"].get<std::string>(), Contains("no_such_program"));
}

TEST_CASE("torchrun's style of exit codes folds every failure to 1", "[e2e][report]") {
  RankrunCase rankrun;
  const auto [body, code] =
      GENERATE(table<std::string, int>({{"exit 0", 0}, {"exit 7", 1}, {"kill -KILL $$", 1}}));
  rankrun.write_worker(body);
  CHECK_THAT(rankrun.run({"--exit-code=torchrun", "--no-python", "./worker"}), ExitsWith(code));
  CHECK_THAT(rankrun.run({"--exit-code=torchrun", "--no-python", "./no_such_program"}),
             ExitsWith(1));
}

TEST_CASE("torchrun's style of exit codes holds for a stop, too", "[e2e][report]") {
  RankrunCase rankrun;
  rankrun.write_worker("touch ready; exec sleep 1000");
  rankrun.start({"--exit-code=torchrun", "--no-python", "./worker"});
  rankrun.wait_for_file("ready");
  rankrun.signal(SIGTERM);
  CHECK_THAT(rankrun.wait(), ExitsWith(1));
}

}  // namespace rankrun::tests
