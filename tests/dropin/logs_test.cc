// SPDX-License-Identifier: Apache-2.0
// Where the output of workers goes (torchrun.md 3.2 to 3.4).
#include "tests/dropin/drop_in.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace rankrun::tests {
namespace {

constexpr auto kBothStreams = R"(echo "out $RANK"; echo "err $RANK" >&2)";

std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  std::sort(lines.begin(), lines.end());
  std::string sorted;
  for (const std::string& line : lines) {
    sorted += line + "\n";
  }
  return sorted;
}

// Without the launcher's own messages.
std::string worker_lines(const std::string& text) {
  std::string kept;
  for (const std::string& line : lines_of(text)) {
    if (line.find("err ") != std::string::npos) kept += line + "\n";
  }
  return sorted_lines(kept);
}

std::string short_host_name() {
  std::array<char, 256> name{};
  REQUIRE(::gethostname(name.data(), name.size() - 1) == 0);
  const std::string host = name.data();
  return host.substr(0, host.find('.'));
}

}  // namespace

RANKRUN_DROP_IN_CASE("redirected streams go to files only, below the job, attempt and local rank") {
  const RunResult result = job.run_worker(kBothStreams,
                                          {"--nproc-per-node=2",
                                           "--rdzv-backend=c10d",
                                           "--rdzv-endpoint=localhost:0",
                                           "--rdzv-id=job7",
                                           "--log-dir=a/new/folder",
                                           "--redirects=3"});
  job.expect_exit(result, 0);
  for (const std::string rank : {"0", "1"}) {
    const std::string folder = "attempt_0/" + rank;
    job.expect_equal("stdout of rank " + rank,
                     job.log(folder + "/stdout.log", "a/new/folder"),
                     "out " + rank + "\n");
    job.expect_equal("stderr of rank " + rank,
                     job.log(folder + "/stderr.log", "a/new/folder"),
                     "err " + rank + "\n");
  }
  job.expect_equal("stdout of the launcher", result.out, "");
  job.expect_equal("stderr of the launcher", worker_lines(result.err), "");
  const auto job_folder =
      std::filesystem::directory_iterator(job.folder() / "a" / "new" / "folder")->path();
  job.expect(job_folder.filename().string().starts_with("job7_"), "the job's folder has its id");
  job.expect(std::filesystem::status(job_folder).permissions() == std::filesystem::perms::owner_all,
             "the job's folder is the user's alone");
}

RANKRUN_DROP_IN_CASE("streams are redirected by local rank, and others stay as they are") {
  const RunResult result =
      job.run_worker(kBothStreams, {"--nproc-per-node=2", "--log-dir=logs", "-r", "0:1,1:2"});
  job.expect_exit(result, 0);
  job.expect_equal("stdout of rank 0", job.log("attempt_0/0/stdout.log"), "out 0\n");
  job.expect_equal("stderr of rank 1", job.log("attempt_0/1/stderr.log"), "err 1\n");
  job.expect_equal("stdout of the launcher", result.out, "out 1\n");
  job.expect_equal("stderr of the launcher", worker_lines(result.err), "err 0\n");
}

RANKRUN_DROP_IN_CASE("tee'd streams go to files and, with role and local rank, to the console") {
  const RunResult result = job.run_worker(
      kBothStreams, {"--nproc-per-node=2", "--role=trainer", "--log-dir=logs", "--tee=3"});
  job.expect_exit(result, 0);
  job.expect_equal(
      "the console's stdout", sorted_lines(result.out), "[trainer0]:out 0\n[trainer1]:out 1\n");
  job.expect_equal(
      "the console's stderr", worker_lines(result.err), "[trainer0]:err 0\n[trainer1]:err 1\n");
  job.expect_equal("a file of rank 0", job.log("attempt_0/0/stdout.log"), "out 0\n");
  job.expect_equal("a file of rank 1", job.log("attempt_0/1/stderr.log"), "err 1\n");
}

RANKRUN_DROP_IN_CASE("streams are tee'd by local rank, beside redirected ones") {
  const RunResult result =
      job.run_worker(kBothStreams, {"--nproc-per-node=2", "--log-dir=logs", "-t0:1,1:3", "-r0:2"});
  job.expect_exit(result, 0);
  job.expect_equal(
      "the console's stdout", sorted_lines(result.out), "[default0]:out 0\n[default1]:out 1\n");
  job.expect_equal("the console's stderr", worker_lines(result.err), "[default1]:err 1\n");
  job.expect_equal("the redirected file", job.log("attempt_0/0/stderr.log"), "err 0\n");
}

RANKRUN_DROP_IN_CASE("the prefix is a template, and unknown names in it stay") {
  job.set("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "not this one");
  const RunResult result = job.run_worker(
      kBothStreams,
      {"--log-dir=logs",
       "--tee=3",
       "--log-line-prefix-template=<${role_name}|${local_rank}|${rank}|${hostname}|${nope}>"});
  job.expect_exit(result, 0);
  job.expect_equal(
      "the line", result.out, "<default|0|0|" + short_host_name() + "|${nope}>out 0\n");
}

RANKRUN_DROP_IN_CASE("the template of the prefix is also a variable") {
  job.set(GENERATE("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "PET_LOG_LINE_PREFIX_TEMPLATE"),
          "<${rank}> ");
  const RunResult result = job.run_worker(kBothStreams, {"--log-dir=logs", "--tee=1"});
  job.expect_exit(result, 0);
  job.expect_equal("the line", result.out, "<0> out 0\n");
}

RANKRUN_DROP_IN_CASE(
    "the filter of local ranks keeps other ranks off the console, not out of files") {
  const RunResult result = job.run_worker(
      kBothStreams,
      {"--nproc-per-node=4", "--log-dir=logs", "--local-ranks-filter=0, 2", "--tee=0:3,1:3"});
  job.expect_exit(result, 0);
  job.expect_equal("the console's stdout", sorted_lines(result.out), "[default0]:out 0\nout 2\n");
  job.expect_equal("the console's stderr", worker_lines(result.err), "[default0]:err 0\nerr 2\n");
  job.expect_equal("a file of rank 1", job.log("attempt_0/1/stdout.log"), "out 1\n");
}

RANKRUN_DROP_IN_CASE("lines with one of the texts are duplicated into the filtered files") {
  const RunResult result = job.run_worker(
      "echo apple $RANK; echo 'a,b' $RANK; echo fig; echo bad $RANK >&2; echo good >&2",
      {"--nproc-per-node=2",
       "--log-dir=logs",
       "--tee=3",
       "--duplicate-stdout-filters=apple,a,,b",
       "--duplicate-stderr-filters=bad"});
  job.expect_exit(result, 0);
  job.expect_equal("filtered_stdout.log",
                   sorted_lines(job.log("attempt_0/filtered_stdout.log")),
                   "[default0]:a,b 0\n[default0]:apple 0\n[default1]:a,b 1\n[default1]:apple 1\n");
  job.expect_equal("filtered_stderr.log",
                   sorted_lines(job.log("attempt_0/filtered_stderr.log")),
                   "[default0]:bad 0\n[default1]:bad 1\n");
  job.expect_contains("the console has all lines", result.out, "[default1]:fig\n");
}

RANKRUN_DROP_IN_CASE("streams that are only redirected are not filtered") {
  job.expect_exit(
      job.run_worker("echo apple", {"--log-dir=logs", "-r3", "--duplicate-stdout-filters=apple"}),
      0);
  job.expect_equal("filtered_stdout.log", job.log("attempt_0/filtered_stdout.log"), "");
  job.expect_equal("the file", job.log("attempt_0/0/stdout.log"), "apple\n");
}

RANKRUN_DROP_IN_CASE("every attempt has files of its own") {
  job.expect_exit(job.run_worker("echo $TORCHELASTIC_RESTART_COUNT; "
                                 "[ $TORCHELASTIC_RESTART_COUNT = 1 ]",
                                 {"--log-dir=logs", "--redirects=1", "--max-restarts=1"}),
                  0);
  job.expect_equal("the first attempt", job.log("attempt_0/0/stdout.log"), "0\n");
  job.expect_equal("the second attempt", job.log("attempt_1/0/stdout.log"), "1\n");
}

RANKRUN_DROP_IN_CASE("without --log-dir nothing stays in the temporary directory after success") {
  job.torchrun_differs("leaves a folder there, for ever", {"it is empty"});
  const RunResult result = job.run_worker(kBothStreams, {"--tee=3"});
  job.expect_exit(result, 0);
  job.expect_equal("the console", result.out, "[default0]:out 0\n");
  std::string left;
  for (const auto& entry : std::filesystem::directory_iterator(job.temp_folder())) {
    left += entry.path().filename().string() + "\n";
  }
  job.expect_equal("it is empty", left, "");
}

RANKRUN_DROP_IN_CASE("an unfinished last line reaches file and console") {
  const RunResult result = job.run_worker("printf 'no newline'", {"--log-dir=logs", "--tee=3"});
  job.expect_exit(result, 0);
  job.expect_contains("the console", result.out, "[default0]:no newline");
  job.expect_equal("the file", job.log("attempt_0/0/stdout.log"), "no newline");
}

RANKRUN_DROP_IN_CASE("a line that is written in pieces gets one prefix") {
  job.torchrun_differs("gives one to each piece", {"the console"});
  // The pause is the worker's own: what it tests is that a launcher shows half a line meanwhile.
  const RunResult result =
      job.run_worker("printf 'one '; sleep 0.5; echo two", {"--log-dir=logs", "--tee=1"});
  job.expect_exit(result, 0);
  job.expect_equal("the console", result.out, "[default0]:one two\n");
}

RANKRUN_DROP_IN_CASE("bytes that are not UTF-8 reach file and console as they are") {
  job.torchrun_differs("replaces them on the console", {"the console"});
  const RunResult result =
      job.run_worker(R"(printf 'a\000b\377c\n')", {"--log-dir=logs", "--tee=1"});
  job.expect_exit(result, 0);
  const std::string line(
      "a\0b\xff"
      "c\n",
      6);
  job.expect_equal("the file", job.log("attempt_0/0/stdout.log"), line);
  job.expect_equal("the console", result.out, "[default0]:" + line);
}

}  // namespace rankrun::tests
