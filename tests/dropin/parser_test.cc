// SPDX-License-Identifier: Apache-2.0
// How a command line and the PET_* variables are read (torchrun.md 1.1 and 1.2).
#include "tests/dropin/drop_in.h"

namespace rankrun::tests {
namespace {

constexpr auto kPrintArguments = R"(printf '[%s]' "$@")";
constexpr int kUsage = 2;

}  // namespace

RANKRUN_DROP_IN_CASE("after the program nothing is read as an option") {
  job.write_program("worker", kPrintArguments);
  const RunResult result = job.run(
      {"--no-python", "./worker", "--nproc-per-node=2", "--help", "-m", "", "--", "two words"});
  job.expect_exit(result, 0);
  job.expect_equal(
      "the arguments", result.out, "[--nproc-per-node=2][--help][-m][][--][two words]");
}

RANKRUN_DROP_IN_CASE("a program's argument may begin like several of the launcher's options") {
  job.torchrun_differs("inspects the program's arguments, too, with Python up to 3.12.7",
                       {"exit code", "the arguments"});
  job.write_program("worker", kPrintArguments);
  const RunResult result = job.run({"--no-python", "./worker", "--d", "5"});
  job.expect_exit(result, 0);
  job.expect_equal("the arguments", result.out, "[--d][5]");
}

RANKRUN_DROP_IN_CASE("the first literal -- is dropped, before or right behind the program") {
  job.write_program("worker", kPrintArguments);
  const auto [arguments, arrive] = GENERATE(table<std::vector<std::string>, std::string>(
      {{{"--", "./worker", "--", "x"}, "[--][x]"},
       {{"./worker", "--", "x", "--", "y"}, "[x][--][y]"}}));
  std::vector<std::string> line{"--no-python"};
  line.insert(line.end(), arguments.begin(), arguments.end());
  const RunResult result = job.run(line);
  job.expect_exit(result, 0);
  job.expect_equal("the arguments", result.out, arrive);
}

RANKRUN_DROP_IN_CASE(
    "values follow a space, an equals sign or a letter, and dashes may be underscores") {
  const RunResult result = job.run_worker("echo $ROLE_NAME $WORLD_SIZE $TORCHELASTIC_MAX_RESTARTS",
                                          {"--nproc_per_node",
                                           "2",
                                           "--max-restarts=3",
                                           "--role",
                                           "r",
                                           "--log_dir=logs",
                                           "-r3",
                                           "-t",
                                           "0"});
  job.expect_exit(result, 0);
  job.expect_equal("rank 0", job.log("attempt_0/0/stdout.log"), "r 2 3\n");
  job.expect_equal("rank 1", job.log("attempt_0/1/stdout.log"), "r 2 3\n");
}

RANKRUN_DROP_IN_CASE("unique beginnings of long options are enough") {
  const RunResult result = job.run_worker("echo $WORLD_SIZE $TORCHELASTIC_RUN_ID",
                                          {"--nproc-per",
                                           "2",
                                           "--rdzv-b",
                                           "c10d",
                                           "--rdzv-end=localhost:0",
                                           "--rdzv-i",
                                           "job7",
                                           "--log-d=logs",
                                           "--redirect=3"});
  job.expect_exit(result, 0);
  job.expect_equal("rank 1", job.log("attempt_0/1/stdout.log"), "2 job7\n");
}

RANKRUN_DROP_IN_CASE("a beginning that several options share is refused") {
  expect_refused(job,
                 {"--nproc", "2"},
                 kUsage,
                 "ambiguous option: --nproc could match --nproc-per-node, --nproc_per_node");
}

RANKRUN_DROP_IN_CASE("an unknown option before the program is refused") {
  expect_refused(job, {"--bogus"}, kUsage, "--bogus");
}

RANKRUN_DROP_IN_CASE("a switch takes no value") {
  const auto [option, value] = GENERATE(
      table<std::string, std::string>({{"-mpackage", "package"}, {"--standalone=yes", "yes"}}));
  expect_refused(job, {option}, kUsage, "ignored explicit argument '" + value + "'");
}

RANKRUN_DROP_IN_CASE(
    "a value that begins with a dash is joined, but a negative number need not be") {
  const RunResult joined = job.run_worker("echo \"$ROLE_NAME\"", {"--role=-x"});
  job.expect_equal("joined", joined.out, "-x\n");
  const RunResult number = job.run_worker("echo \"$ROLE_NAME\"", {"--role", "-5"});
  job.expect_equal("a number", number.out, "-5\n");
  const RunResult apart = job.run_worker("echo \"$ROLE_NAME\"", {"--role", "--x"});
  job.expect_exit(apart, kUsage);
  job.expect_contains("apart", apart.err, "expected one argument");
}

RANKRUN_DROP_IN_CASE("a command line without a program is refused") {
  const RunResult result = job.run({"--nproc-per-node=2"});
  job.expect_exit(result, kUsage);
  job.expect(result.out.empty() && !result.err.empty(), "only stderr says something", result.err);
}

RANKRUN_DROP_IN_CASE("the last of several values wins") {
  const RunResult result =
      job.run_worker("echo \"$ROLE_NAME\"", {"--role=a", "-t", "3", "--role", "b", "--tee=0"});
  job.expect_exit(result, 0);
  job.expect_equal("role and output", result.out, "b\n");
}

RANKRUN_DROP_IN_CASE("variables set options, even to nothing, and the command line wins") {
  job.set("PET_NPROC_PER_NODE", "2");
  job.set("PET_MAX_RESTARTS", "4");
  job.set("PET_ROLE", "");
  job.set("PET_REDIRECTS", "3");
  job.set("PET_LOG_DIR", "logs");
  const RunResult result = job.run_worker(
      "echo \"[$ROLE_NAME]\" $WORLD_SIZE $TORCHELASTIC_MAX_RESTARTS "
      "$PET_MAX_RESTARTS",
      {"--max-restarts=6"});
  job.expect_exit(result, 0);
  job.expect_equal("rank 1", job.log("attempt_0/1/stdout.log"), "[] 2 6 4\n");
}

RANKRUN_DROP_IN_CASE("variables of switches are numbers: 0 is off, others are on") {
  job.set("PET_NO_PYTHON", "1");
  job.set("PET_STANDALONE", "0");
  job.set("PET_MODULE", "0");
  job.write_program("worker", "echo here");
  const RunResult result = job.run({"./worker"});
  job.expect_exit(result, 0);
  job.expect_equal("the worker runs", result.out, "here\n");
}

RANKRUN_DROP_IN_CASE("a bad number in a variable is a usage error") {
  const std::string name = GENERATE("PET_MAX_RESTARTS", "PET_MONITOR_INTERVAL");
  job.set(name, "many");
  expect_refused(job, {}, kUsage, "many");
}

RANKRUN_DROP_IN_CASE("a bad value of a switch's variable is a usage error") {
  job.torchrun_differs("a traceback and exit code 1", {"exit code"});
  job.set("PET_STANDALONE", "yes");
  expect_refused(job, {}, kUsage, "yes");
}

RANKRUN_DROP_IN_CASE("a value that is none of the choices is refused") {
  expect_refused(job, {"--start-method=x"}, kUsage, "spawn");
}

RANKRUN_DROP_IN_CASE("a value in a variable that is none of the choices is refused") {
  job.torchrun_differs("does not check choices in variables",
                       {"exit code", "stderr names the reason", "nothing starts"});
  job.set("PET_START_METHOD", "x");
  expect_refused(job, {}, kUsage, "spawn");
}

RANKRUN_DROP_IN_CASE("numbers are written as in Python") {
  const RunResult result =
      job.run_worker("echo $TORCHELASTIC_MAX_RESTARTS $WORLD_SIZE",
                     {"--nproc-per-node= +1 ", "--nnodes= 1 : 1 ", "--max-restarts= 1_0 "});
  job.expect_exit(result, 0);
  job.expect_equal("what the worker sees", result.out, "10 1\n");
}

RANKRUN_DROP_IN_CASE("help lists every option of torchrun") {
  const RunResult result = job.run({"--help"});
  job.expect_exit(result, 0);
  job.expect(result.err.empty(), "nothing on stderr", result.err);
  for (const std::string option : {"nnodes",
                                   "nproc-per-node",
                                   "rdzv-backend",
                                   "rdzv-endpoint",
                                   "rdzv-id",
                                   "rdzv-conf",
                                   "standalone",
                                   "max-restarts",
                                   "monitor-interval",
                                   "start-method",
                                   "event-log-handler",
                                   "role",
                                   "module",
                                   "no-python",
                                   "run-path",
                                   "log-dir",
                                   "redirects",
                                   "tee",
                                   "local-ranks-filter",
                                   "duplicate-stdout-filters",
                                   "duplicate-stderr-filters",
                                   "log-line-prefix-template",
                                   "node-rank",
                                   "master-addr",
                                   "master-port",
                                   "local-addr",
                                   "logs-specs",
                                   "numa-binding",
                                   "signals-to-handle",
                                   "shutdown-timeout",
                                   "virtual-local-rank",
                                   "print-completion",
                                   "help"}) {
    job.expect_contains("--" + option, result.out, "--" + option);
  }
}

RANKRUN_DROP_IN_CASE("the completion script of a shell is printed") {
  job.torchrun_differs("needs the Python package shtab", {"exit code", "the script is on stdout"});
  const RunResult result = job.run({"--print-completion", "bash"});
  job.expect_exit(result, 0);
  job.expect_contains("the script is on stdout", result.out, "--nproc-per-node");
}

}  // namespace rankrun::tests
