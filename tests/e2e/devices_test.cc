// SPDX-License-Identifier: Apache-2.0
// Workers per GPU, counted by a double of NVIDIA's management library.
#include "tests/support/rankrun_case.h"

namespace rankrun::tests {
namespace {

constexpr auto kTwoPlainGpus = "GPU-aa11 0:7:0;GPU-ab22 0:8:0";
constexpr auto kFourGpus =
    "GPU-aa11 0:7:0;GPU-ab22 0:8:0;GPU-cc33 0:9:0 MIG-5e1f:1:0 MIG-77aa:2:0;GPU-dd44 0:a:0";

void fake_gpus(RankrunCase& rankrun, const char* gpus) {
  rankrun.set("LD_LIBRARY_PATH", FAKE_NVML_FOLDER);
  rankrun.set("FAKE_NVML_GPUS", gpus);
}

std::size_t count_workers(RankrunCase& rankrun, const std::string& per_node) {
  const RunResult result =
      rankrun.run({"--nproc-per-node=" + per_node, "--no-python", "sh", "-c", "echo worker"});
  CHECK_THAT(result, ExitsWith(0));
  return lines_of(result.out).size();
}

}  // namespace

TEST_CASE("there is one worker for each GPU that NVML tells", "[e2e][devices]") {
  RankrunCase rankrun;
  fake_gpus(rankrun, kFourGpus);
  const std::string per_node = GENERATE("gpu", "auto");
  CHECK(count_workers(rankrun, per_node) == 4);
}

TEST_CASE("there is one worker for each GPU that CUDA_VISIBLE_DEVICES shows", "[e2e][devices]") {
  RankrunCase rankrun;
  fake_gpus(rankrun, kFourGpus);
  const std::string per_node = GENERATE("gpu", "auto");
  const auto [list, count] = GENERATE(table<const char*, std::size_t>({{"3,1", 2},
                                                                       {"0,1,-1,2", 2},
                                                                       {"GPU-cc33,GPU-ab", 2},
                                                                       {"GPU-aa11", 1},
                                                                       {"MIG-77aa", 1},
                                                                       {"MIG-GPU-cc33/1/0", 1},
                                                                       {"MIG-77,MIG-5e1f", 1}}));
  INFO("CUDA_VISIBLE_DEVICES=" << list);
  rankrun.set("CUDA_VISIBLE_DEVICES", list);
  CHECK(count_workers(rankrun, per_node) == count);
}

TEST_CASE("a launch per GPU without a visible one says how that was found", "[e2e][devices]") {
  RankrunCase rankrun;
  fake_gpus(rankrun, kTwoPlainGpus);
  const auto [list, how] = GENERATE(table<const char*, const char*>(
      {{"", "NVML: 2 devices, CUDA_VISIBLE_DEVICES is empty"},
       {"-1", "NVML: 2 devices, CUDA_VISIBLE_DEVICES names 0 of them: '-1' ends the list"},
       {"0,0", "names 0 of them: '0' is there twice, which hides all"},
       {"GPU-a", "names 0 of them: 'GPU-a' ends the list"}}));
  rankrun.set("CUDA_VISIBLE_DEVICES", list);
  const RunResult result = rankrun.run({"--nproc-per-node=gpu", "--no-python", "true"});
  CHECK_THAT(result, ExitsWith(2));
  CHECK(lines_of(result.err).size() == 1);
  CHECK_THAT(result.err, Catch::Contains(how));
}

TEST_CASE("a driver that is not loaded is no GPU, and the launch says so", "[e2e][devices]") {
  RankrunCase rankrun;
  fake_gpus(rankrun, kTwoPlainGpus);
  rankrun.set("FAKE_NVML_INIT", "9");
  const RunResult result = rankrun.run({"--nproc-per-node=gpu", "--no-python", "true"});
  if (result.status == agent::ExitStatus::exited(0)) {
    WARN("SKIPPED: this host has device files of NVIDIA");
    return;
  }
  CHECK_THAT(result, ExitsWith(2));
  CHECK_THAT(result.err, Catch::Contains("nvmlInit_v2 failed with 9: Driver Not Loaded"));
}

TEST_CASE("a launch that does not ask for GPUs does not load NVML", "[e2e][devices]") {
  RankrunCase rankrun;
  const std::string log = rankrun.folder().string() + "/loaded";
  fake_gpus(rankrun, kTwoPlainGpus);
  rankrun.set("LD_DEBUG", "libs");
  rankrun.set("LD_DEBUG_OUTPUT", log);
  rankrun.start({"--nproc-per-node=2", "--no-python", "true"});
  const std::string own_log = "loaded." + std::to_string(rankrun.pid());
  CHECK_THAT(rankrun.wait(), ExitsWith(0));
  CHECK_THAT(rankrun.read(own_log), Catch::Contains("libc.so.6"));
  CHECK_THAT(rankrun.read(own_log), !Catch::Contains("nvidia-ml"));
}

}  // namespace rankrun::tests
