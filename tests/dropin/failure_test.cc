// SPDX-License-Identifier: Apache-2.0
// How a job fails: exit code, report and error files (torchrun.md 3.5 to 3.9).
#include "tests/dropin/drop_in.h"

#include <nlohmann/json.hpp>

#include <signal.h>

#include <algorithm>

namespace rankrun::tests {
namespace {

constexpr auto kAlwaysOne = "always exits with 1";

std::string root_cause(const RunResult& result) {
  return result.err.substr(std::min(result.err.find("Root Cause"), result.err.size()));
}

// What the report says of the failures before the root cause.
std::string other_failures(const RunResult& result) {
  const std::size_t begin = std::min(result.err.find("Failures:"), result.err.size());
  const std::size_t end = std::min(result.err.find("Root Cause"), result.err.size());
  return begin < end ? result.err.substr(begin, end - begin) : "";
}

// A worker with this error file that exits with 5.
RunResult run_with_error_file(DropIn& job, const std::string& error_file) {
  job.write("prepared.json", error_file);
  job.set("TORCHELASTIC_ERROR_FILE", job.folder() / "reply.json");
  return job.run_worker("cat prepared.json >\"$TORCHELASTIC_ERROR_FILE\"; exit 5",
                        {"--log-dir=logs"});
}

nlohmann::json forwarded(const DropIn& job) {
  return nlohmann::json::parse(job.read("reply.json"), nullptr, false);
}

void ignore_children() {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGCHLD, &action, nullptr);
}

}  // namespace

RANKRUN_DROP_IN_CASE("the exit code is the failing worker's, 128 and more after a signal") {
  job.torchrun_differs(kAlwaysOne, {"exit code"});
  const auto [body, code] = GENERATE(table<std::string, int>(
      {{"exit 7", 7}, {"kill -KILL $$", 128 + SIGKILL}, {"kill -TERM $$", 128 + SIGTERM}}));
  job.expect_exit(job.run_worker(body), code);
}

RANKRUN_DROP_IN_CASE("the first failing worker is the root cause, not those it takes with it") {
  job.torchrun_differs(kAlwaysOne, {"exit code"});
  const RunResult result = job.run_worker(
      R"(if [ "$RANK" = 1 ]; then
  until [ -e ready ]; do sleep 0.02; done
  exit 3
fi
trap 'exit 4' TERM
touch ready
sleep 1000 & wait)",
      {"--nproc-per-node=2"});
  job.expect_exit(result, 3);
  job.expect_contains(
      "the root cause is rank 1", root_cause(result), "rank      : 1 (local_rank: 1)");
  job.expect_contains("its exit code", root_cause(result), "exitcode  : 3 (pid: ");
  job.expect_contains(
      "the other one is a failure, too", other_failures(result), "rank      : 0 (local_rank: 0)");
}

RANKRUN_DROP_IN_CASE("the report has torchrun's form") {
  const RunResult result = job.run_worker(
      R"([ "$RANK" = 0 ] && exec sleep 1000
echo $$ >pid
kill -KILL $$)",
      {"--nproc-per-node=2"});
  const std::string pid = lines_of(job.read("pid")).at(0);
  for (const std::string& part : std::vector<std::string>{
           "\n./worker FAILED\n",
           "\nFailures:\n",
           "\nRoot Cause (first observed failure):\n[",
           "\n  time      : ",
           "\n  host      : ",
           "\n  rank      : 1 (local_rank: 1)\n",
           "\n  exitcode  : -9 (pid: " + pid + ")  (SIGKILL)\n",
           "\n  error_file: <N/A>\n",
           "\n  traceback : Signal 9 (SIGKILL) received by PID " + pid,
       }) {
    job.expect_contains("'" + part.substr(part.find_first_not_of("\n ")) + "'", result.err, part);
  }
}

RANKRUN_DROP_IN_CASE("the report has the failed worker's last words") {
  job.torchrun_differs("reports what is in an error file, nothing else", {"its last words"});
  const RunResult result = job.run_worker("echo 'the loss is not a number' >&2; exit 1");
  job.expect_exit(result, 1);
  job.expect_contains("its last words", root_cause(result), "the loss is not a number");
}

RANKRUN_DROP_IN_CASE("a worker's error file is in the report and goes to the launcher's parent") {
  job.torchrun_differs(kAlwaysOne, {"exit code"});
  job.write("reply.json", "from before");
  const RunResult result =
      run_with_error_file(job,
                          R"({"message": {"message": "ValueError: boom", "extraInfo":
          {"py_callstack": "Traceback\n  line 1", "timestamp": "1700000000"}}})");
  job.expect_exit(result, 5);
  job.expect_contains("the call stack", root_cause(result), "Traceback\n    line 1");
  job.expect_contains("the file's path", root_cause(result), "/attempt_0/0/error.json");
  const nlohmann::json reply = forwarded(job);
  const auto message = reply.is_object() ? reply.value("message", nlohmann::json()) : reply;
  job.expect(message.is_object() && message.value("errorCode", 0) == 5 &&
                 message.value("message", "") == "ValueError: boom",
             "the forwarded file has the exit code",
             job.read("reply.json"));
}

RANKRUN_DROP_IN_CASE("an error file of the plain form is reported and forwarded as it is") {
  job.torchrun_differs(kAlwaysOne, {"exit code"});
  const RunResult result =
      run_with_error_file(job, R"({"message": "boom", "timestamp": 1700000000})");
  job.expect_exit(result, 5);
  job.expect_contains("the message", root_cause(result), "boom");
  job.expect(forwarded(job) == nlohmann::json({{"message", "boom"}, {"timestamp", 1700000000}}),
             "the forwarded file is the same",
             job.read("reply.json"));
}

RANKRUN_DROP_IN_CASE("a broken error file does not lose the report") {
  job.torchrun_differs("its own traceback takes the place of the report",
                       {"exit code", "the report names the rank"});
  const std::string broken = GENERATE("{\"mess", "[]", "{}", "");
  const RunResult result = run_with_error_file(job, broken);
  job.expect_exit(result, 5);
  job.expect_contains("the report names the rank", root_cause(result), "exitcode  : 5");
}

RANKRUN_DROP_IN_CASE("the launcher's own failure is in its error file") {
  job.set("TORCHELASTIC_ERROR_FILE", job.folder() / "reply.json");
  job.expect_exit(job.run_worker("", {"--log-dir=worker"}), 1);
  const nlohmann::json reply = forwarded(job);
  job.expect(reply.is_object() && reply.contains("message") &&
                 reply["message"].dump().find("worker") != std::string::npos,
             "the file has a message",
             job.read("reply.json"));
}

RANKRUN_DROP_IN_CASE("a worker that ends well does not end those that still run") {
  const RunResult result = job.run_worker(
      R"([ "$RANK" = 1 ] && echo $$ >first && exit 0
until [ -s first ] && ! grep -qs '^State:.[^Z]' "/proc/$(cat first)/status"; do sleep 0.02; done
touch finished)",
      {"--nproc-per-node=2"});
  job.expect_exit(result, 0);
  job.expect(job.exists("finished"), "the other one finishes");
}

RANKRUN_DROP_IN_CASE("a parent that ignores its children's ends does not hide a failure") {
  job.torchrun_differs("exits with 0", {"exit code"});
  job.before_exec(ignore_children);
  job.expect_exit(job.run_worker("exit 7"), 7);
}

RANKRUN_DROP_IN_CASE("what a worker leaves behind is ended after success") {
  job.torchrun_differs("leaves it", {"nothing is left"});
  job.expect_exit(job.run_worker(R"((echo >>alive; exec sleep 1000) & echo $! >pid
until [ -e alive ]; do sleep 0.02; done)"),
                  0);
  const std::string pid = lines_of(job.read("pid")).at(0);
  job.expect(!std::filesystem::exists("/proc/" + pid + "/exe"), "nothing is left");
}

}  // namespace rankrun::tests
