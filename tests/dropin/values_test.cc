// SPDX-License-Identifier: Apache-2.0
// Values of options that cannot work, and some that only look so (torchrun.md 1.3 and 3.9).
#include "tests/dropin/drop_in.h"

#include <thread>

namespace rankrun::tests {
namespace {

constexpr int kUsage = 2;

struct BadValue {
  std::vector<std::string> options;
  std::string reason;  // of both launchers' words
};

// torchrun finds such a value when it is about to launch.
void expect_usage_error(DropIn& job, const BadValue& bad) {
  job.torchrun_differs("a traceback and exit code 1", {"exit code", "one line on stderr"});
  const RunResult result = expect_refused(job, bad.options, kUsage, bad.reason);
  job.expect_equal(
      "one line on stderr", std::to_string(lines_of(result.err).size()) + " lines", "1 lines");
}

}  // namespace

RANKRUN_DROP_IN_CASE("a bad number of nodes is a usage error") {
  const std::string value = GENERATE("1:2:3", "a", "0", "2:1");
  expect_usage_error(job, {{"--nnodes=" + value}, value.substr(0, 1)});
}

RANKRUN_DROP_IN_CASE("a bad number of workers is a usage error") {
  expect_usage_error(job, {{GENERATE("--nproc-per-node=foo", "--nproc-per-node=")}, "nproc"});
}

RANKRUN_DROP_IN_CASE("a number of workers below 1 is a usage error that says so") {
  job.torchrun_differs("a traceback without a word, and exit code 1",
                       {"exit code", "stderr names the reason"});
  const std::string option = GENERATE("--nproc-per-node=0", "--nproc-per-node=-1");
  expect_refused(job, {option}, kUsage, option);
}

RANKRUN_DROP_IN_CASE("workers per GPU are refused where there is none") {
  job.torchrun_differs("a traceback and exit code 1", {"exit code", "one line on stderr"});
  job.set("CUDA_VISIBLE_DEVICES", "");
  const auto [device, other_word] =
      GENERATE(table<std::string, std::string>({{"gpu", "Cuda"}, {"xpu", "Xpu"}}));
  const RunResult result = job.run_worker("touch started", {"--nproc-per-node=" + device});
  job.expect_exit(result, kUsage);
  job.expect(result.err.find(device) != std::string::npos ||
                 result.err.find(other_word) != std::string::npos,
             "stderr names the device");
  job.expect_equal(
      "one line on stderr", std::to_string(lines_of(result.err).size()) + " lines", "1 lines");
  job.expect(!job.exists("started"), "nothing starts");
}

RANKRUN_DROP_IN_CASE("a negative number of restarts is a usage error") {
  expect_usage_error(job, {{"--max-restarts=-1"}, "restarts"});
}

RANKRUN_DROP_IN_CASE("a monitor interval that is no time is a usage error that says so") {
  job.torchrun_differs("a traceback without the option's name, and exit code 1",
                       {"exit code", "stderr names the reason"});
  const std::string option = GENERATE("--monitor-interval=0", "--monitor-interval=-0.5");
  expect_refused(job, {option}, kUsage, option);
}

RANKRUN_DROP_IN_CASE("a negative shutdown timeout is a usage error") {
  expect_usage_error(job, {{"--shutdown-timeout=-1"}, "-1"});
}

RANKRUN_DROP_IN_CASE("a bad selection of streams is a usage error") {
  expect_usage_error(job,
                     GENERATE(values<BadValue>({{{"--redirects=4"}, "4"},
                                                {{"--tee=4"}, "4"},
                                                {{"-r", "0:4"}, "0:4"},
                                                {{"-t", "0:1,"}, "0:1,"}})));
}

RANKRUN_DROP_IN_CASE("streams are selected for local ranks of two digits, too") {
  job.torchrun_differs("refuses local ranks above 9",
                       {"exit code", "rank 10 is redirected", "rank 0 is not"});
  const RunResult result = job.run_worker("[ $RANK = 0 -o $RANK = 10 ] && echo $RANK; exit 0",
                                          {"--nproc-per-node=11", "--log-dir=logs", "-r10:1"});
  job.expect_exit(result, 0);
  job.expect_equal("rank 10 is redirected", job.log("attempt_0/10/stdout.log"), "10\n");
  job.expect_equal("rank 0 is not", result.out, "0\n");
}

RANKRUN_DROP_IN_CASE("a bad filter of local ranks is a usage error") {
  expect_usage_error(job, {{"--local-ranks-filter=0,a"}, "filter"});
}

RANKRUN_DROP_IN_CASE("bad options of the rendezvous are a usage error") {
  expect_usage_error(job,
                     GENERATE(values<BadValue>({{{"--rdzv-conf=abc"}, "abc"},
                                                {{"--rdzv-conf==v"}, "value"},
                                                {{"--rdzv-conf=backend=x"}, "backend"}})));
}

RANKRUN_DROP_IN_CASE("options of the rendezvous are checked for their type") {
  expect_usage_error(
      job,
      GENERATE(values<BadValue>(
          {{{"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--rdzv-conf=is_host=maybe"},
            "is_host"},
           {{"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--rdzv-conf=read_timeout=x"},
            "read_timeout"}})));
}

RANKRUN_DROP_IN_CASE("a bad endpoint of the rendezvous is a usage error") {
  expect_usage_error(job,
                     GENERATE(values<BadValue>(
                         {{{"--rdzv-backend=c10d", "--rdzv-endpoint=host:99999"}, "99999"},
                          {{"--rdzv-backend=c10d", "--rdzv-endpoint=ho st:1"}, "ho st"},
                          {{"--rdzv-backend=static", "--rdzv-endpoint=localhost"}, "port"}})));
}

RANKRUN_DROP_IN_CASE("an unknown rendezvous backend is a usage error") {
  expect_usage_error(job, {{"--rdzv-backend=nope"}, "nope"});
}

RANKRUN_DROP_IN_CASE("a port beyond 65535 is a usage error") {
  expect_usage_error(job, {{"--master-port=70000"}, "70000"});
}

RANKRUN_DROP_IN_CASE("the options --module and --no-python exclude each other") {
  expect_usage_error(job, {{"--module"}, "--no-python"});
}

RANKRUN_DROP_IN_CASE("unknown plug-ins are a usage error") {
  expect_usage_error(job,
                     GENERATE(values<BadValue>({{{"--logs-specs=nope"}, "specs"},
                                                {{"--event-log-handler=nope"}, "nope"}})));
}

RANKRUN_DROP_IN_CASE("an unknown signal is a usage error") {
  job.torchrun_differs("warns with a traceback and goes on", {"exit code", "nothing starts"});
  expect_refused(job, {"--signals-to-handle=SIGTERM,SIGNOPE"}, kUsage, "SIGNOPE");
}

RANKRUN_DROP_IN_CASE("an unknown NUMA mode is a usage error") {
  expect_refused(job, {"--numa-binding=nope"}, kUsage, "core-complex");
}

RANKRUN_DROP_IN_CASE("NUMA binding works without GPUs") {
  job.torchrun_differs("binds to the nodes of GPUs alone",
                       {"exit code", "the workers have other CPUs"});
  job.set("CUDA_VISIBLE_DEVICES", "");
  const bool has_two = std::thread::hardware_concurrency() > 1;
  const RunResult result = job.run_worker(
      "grep ^Cpus_allowed_list: /proc/self/status",
      {"--numa-binding=exclusive", has_two ? "--nproc-per-node=2" : "--nproc-per-node=1"});
  job.expect_exit(result, 0);
  const std::vector<std::string> cpus = lines_of(result.out);
  job.expect(cpus.size() == (has_two ? 2 : 1) && (!has_two || cpus[0] != cpus[1]),
             "the workers have other CPUs",
             result.out);
}

RANKRUN_DROP_IN_CASE("more virtual local ranks than visible devices are a usage error") {
  job.set("CUDA_VISIBLE_DEVICES", "3");
  expect_usage_error(job,
                     {{"--virtual-local-rank", "--nproc-per-node=2"}, "CUDA_VISIBLE_DEVICES=3"});
}

RANKRUN_DROP_IN_CASE("a log directory that is a file is the launcher's own trouble") {
  expect_refused(job, {"--log-dir=worker"}, 1, "worker");
}

RANKRUN_DROP_IN_CASE("a node rank without a static rendezvous only warns") {
  const RunResult result = job.run_worker("echo \"$GROUP_RANK\"", {"--node-rank=1"});
  job.expect_exit(result, 0);
  job.expect_equal("the worker runs", result.out, "0\n");
  job.expect(!result.err.empty(), "a warning on stderr");
}

RANKRUN_DROP_IN_CASE("an empty job id is replaced by a random one") {
  const RunResult result =
      job.run_worker("echo \"$TORCHELASTIC_RUN_ID\"",
                     {GENERATE("--rdzv-backend=static", "--rdzv-backend=c10d"), "--rdzv-id="});
  job.expect_exit(result, 0);
  job.expect(result.out.size() > 30, "there is an id", result.out);
}

}  // namespace rankrun::tests
