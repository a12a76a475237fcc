// SPDX-License-Identifier: Apache-2.0
// Input that cannot work is refused: one line with reason and remedy, nothing started, and the exit
// code of torchrun.md 3.9.
#include "tests/support/rankrun_case.h"

#include <algorithm>

namespace rankrun::tests {

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;

namespace {

struct Refusal {
  std::vector<std::string> arguments;
  int code;
  std::string reason;
  std::string remedy;
};

std::ostream& operator<<(std::ostream& out, const Refusal& refusal) {
  for (const std::string& argument : refusal.arguments) {
    out << "'" << argument << "' ";
  }
  return out;
}

// There are ./worker, ./folder and some files that cannot be run; a worker that starts is seen.
void check_refused(RankrunCase& rankrun, const Refusal& refusal) {
  INFO("arguments: " << refusal);
  rankrun.write_worker("touch started");
  rankrun.write("folder/file", "");
  rankrun.write("plain_text", "");
  rankrun.write("bad_interpreter", "#!/no/such/interpreter\n", std::filesystem::perms::owner_all);
  const RunResult result = rankrun.run(refusal.arguments);
  CHECK_THAT(result, ExitsWith(refusal.code));
  CHECK(result.out.empty());
  CHECK_THAT(result.err, StartsWith("rankrun: error: ") && EndsWith("\n"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK_THAT(result.err, Contains(refusal.reason));
  CHECK_THAT(result.err, Contains(refusal.remedy));
  CHECK_FALSE(rankrun.exists("started"));
  CHECK(rankrun.worker_ports().empty());
}

}  // namespace

TEST_CASE("a command line that breaks the rules is a usage error", "[e2e][bad_input]") {
  RankrunCase rankrun;
  rankrun.set("PYTHON_EXEC", "/bin/sh");
  const Refusal refusal = GENERATE(values<Refusal>({
      {{"--bogus", "./worker"}, 2, "--bogus", "--help"},
      {{"-x", "./worker"}, 2, "-x", "--help"},
      {{"--nproc", "2", "./worker"}, 2, "ambiguous option: --nproc", "--nproc_per_node"},
      {{"--max-restarts"}, 2, "expected one argument", "--help"},
      {{"--standalone=yes", "./worker"}, 2, "ignored explicit argument 'yes'", "--help"},
      {{}, 2, "no program", "--help"},
      {{"--nproc-per-node=0", "./worker"}, 2, "--nproc-per-node=0", "from 1"},
      {{"--nproc-per-node=-1", "./worker"}, 2, "--nproc-per-node=-1", "from 1"},
      {{"--nproc-per-node=foo", "./worker"}, 2, "--nproc-per-node=foo", "auto, cpu or gpu"},
      {{"--nnodes=a", "./worker"}, 2, "--nnodes=a", "MIN:MAX"},
      {{"--nnodes=1:2:3", "./worker"}, 2, "--nnodes=1:2:3", "MIN:MAX"},
      {{"--nnodes=2", "./worker"}, 2, "--nnodes=2", "not supported yet"},
      {{"--max-restarts=-1", "./worker"}, 2, "--max-restarts=-1", "from 0"},
      {{"--monitor-interval=0", "./worker"}, 2, "--monitor-interval=0", "above 0"},
      {{"--shutdown-timeout=-1", "./worker"}, 2, "--shutdown-timeout=-1", "from 0"},
      {{"--node-rank=1", "--master-port=0", "./worker"}, 2, "--node-rank=1", "use 0"},
      {{"--master-port=70000", "./worker"}, 2, "--master-port=70000", "65535"},
      {{"--master-port=x", "./worker"}, 2, "--master-port=x", "whole number"},
      {{"--rdzv-backend=nope", "./worker"}, 2, "--rdzv-backend=nope", "c10d or static"},
      {{"--rdzv-conf=abc", "./worker"}, 2, "--rdzv-conf=abc", "key=value"},
      {{"--rdzv-endpoint=host:99999", "./worker"}, 2, "--rdzv-endpoint", "port"},
      {{"-m", "--no-python", "./worker"}, 2, "exclude each other", "one of them"},
  }));
  check_refused(rankrun, refusal);
}

TEST_CASE("a bad variable is a usage error", "[e2e][bad_input]") {
  RankrunCase rankrun;
  const auto [name, value] =
      GENERATE(table<std::string, std::string>({{"PET_MAX_RESTARTS", "many"},
                                                {"PET_MASTER_PORT", ""},
                                                {"PET_STANDALONE", "yes"},
                                                {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "-1"},
                                                {"LOGLEVEL", "LOUD"}}));
  INFO(name);
  rankrun.set(name, value);
  check_refused(rankrun, {{"--no-python", "./worker"}, 2, "=" + value + ": ", "; "});
}

TEST_CASE("GPUs are asked for in vain where there are none", "[e2e][bad_input]") {
  RankrunCase rankrun;
  rankrun.set("CUDA_VISIBLE_DEVICES", "");
  check_refused(
      rankrun,
      {{"--nproc-per-node=gpu", "--no-python", "./worker"}, 2, "no GPU found", "a number, cpu"});
}

TEST_CASE("a program that cannot be run is refused before anything starts", "[e2e][bad_input]") {
  RankrunCase rankrun;
  const Refusal refusal = GENERATE(values<Refusal>({
      {{"missing.py"}, 127, "'missing.py': not found", "check the path"},
      {{"folder"}, 126, "'folder'", "directory"},
      {{"--no-python", "./missing"}, 127, "'./missing': not found", "check the path"},
      {{"--no-python", "missing"}, 127, "'missing' in PATH", "add its folder to PATH"},
      {{"--no-python", "./folder"}, 126, "'./folder'", "directory"},
      {{"--no-python", "./plain_text"}, 126, "'./plain_text'", "chmod +x"},
      {{"--no-python", "./worker/below"}, 127, "'./worker/below': not found", "check the path"},
      {{"--no-python", "./bad_interpreter"}, 127, "'./bad_interpreter': not found", "#! line"},
  }));
  check_refused(rankrun, refusal);
}

TEST_CASE("an interpreter that cannot be run is refused before anything starts",
          "[e2e][bad_input]") {
  RankrunCase rankrun;
  SECTION("PYTHON_EXEC is wrong") {
    rankrun.set("PYTHON_EXEC", "/no/such/python");
    check_refused(rankrun, {{"./worker"}, 127, "'/no/such/python'", "check the path"});
  }
  SECTION("PYTHON_EXEC is no program") {
    rankrun.set("PYTHON_EXEC", "./plain_text");
    check_refused(rankrun, {{"./worker"}, 126, "'./plain_text'", "chmod +x"});
  }
  SECTION("PATH has none") {
    rankrun.set("PATH", rankrun.folder());
    check_refused(rankrun, {{"./worker"}, 127, "python3", "PYTHON_EXEC"});
  }
}

TEST_CASE("directories and addresses that cannot be used are rankrun's own trouble",
          "[e2e][bad_input]") {
  RankrunCase rankrun;
  SECTION("log directory below a file") {
    check_refused(rankrun,
                  {{"--log-dir=plain_text/logs", "--no-python", "./worker"},
                   1,
                   "'plain_text/logs'",
                   "writable directory"});
  }
  SECTION("log directory that not even root can write") {
    check_refused(rankrun,
                  {{"--log-dir=/sys/logs", "--no-python", "./worker"}, 1, "/sys/logs", "writable"});
  }
  SECTION("temporary directory that not even root can write") {
    rankrun.set("TMPDIR", "/sys");
    check_refused(rankrun, {{"--no-python", "./worker"}, 1, "/sys/", "--log-dir"});
  }
  SECTION("address of another host") {
    check_refused(rankrun,
                  {{"--nproc-per-node=2", "--master-addr=192.0.2.1", "--no-python", "./worker"},
                   1,
                   "192.0.2.1",
                   "an address of this host"});
  }
}

}  // namespace rankrun::tests
