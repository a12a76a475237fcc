// SPDX-License-Identifier: Apache-2.0
// What a worker finds in its environment (torchrun.md section 2).
#include "tests/support/rankrun_case.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace rankrun::tests {
namespace {

// Runs two workers, or as many as `options` say, that only leave their environment in a file each.
void run_environment_dump(RankrunCase& rankrun, std::vector<std::string> options) {
  for (const char* part : {"--no-python", "cp", "/proc/self/environ", "env.${local_rank}"}) {
    options.emplace_back(part);
  }
  CHECK_THAT(rankrun.run(options), ExitsWith(0));
}

Environment environment_of(const RankrunCase& rankrun, int local_rank) {
  return parse_environ(rankrun.read("env." + std::to_string(local_rank)));
}

// Takes a variable out whose value no test can know.
std::string take(Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  if (found == environment.end()) FAIL("no variable " << name);
  std::string value = std::move(found->second);
  environment.erase(found);
  return value;
}

void check_equal(const Environment& got, const Environment& expected) {
  for (const auto& [name, value] : expected) {
    INFO("variable " << name);
    REQUIRE(got.contains(name));
    CHECK(got.at(name) == value);
  }
  for (const auto& [name, value] : got) {
    INFO("variable " << name << "=" << value);
    CHECK(expected.contains(name));
  }
}

}  // namespace

TEST_CASE("workers get the variables that torchrun sets, a mark, and nothing else",
          "[e2e][environment]") {
  RankrunCase rankrun;
  run_environment_dump(rankrun,
                       {"--nproc-per-node=2",
                        "--max-restarts=3",
                        "--rdzv-id=job7",
                        "--role=trainer",
                        "--log-dir=logs"});
  std::vector<std::string> ports;
  for (const int rank : {0, 1}) {
    INFO("rank " << rank);
    const std::string number = std::to_string(rank);
    Environment environment = environment_of(rankrun, rank);
    ports.push_back(take(environment, "MASTER_PORT"));
    CHECK_THAT(take(environment, "TORCHELASTIC_ERROR_FILE"),
               Catch::EndsWith("/attempt_0/" + number + "/error.json"));
    CHECK(take(environment, "RANKRUN_MARK").size() == 32);  // torchrun cannot find strays

    Environment expected{{"LOCAL_RANK", number},
                         {"RANK", number},
                         {"GROUP_RANK", "0"},
                         {"ROLE_RANK", number},
                         {"ROLE_NAME", "trainer"},
                         {"LOCAL_WORLD_SIZE", "2"},
                         {"WORLD_SIZE", "2"},
                         {"GROUP_WORLD_SIZE", "1"},
                         {"ROLE_WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "127.0.0.1"},
                         {"TORCHELASTIC_RESTART_COUNT", "0"},
                         {"TORCHELASTIC_MAX_RESTARTS", "3"},
                         {"TORCHELASTIC_RUN_ID", "job7"},
                         {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                         {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"},
                         {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                         {"OMP_NUM_THREADS", "1"}};
    expected.insert(rankrun.environment().begin(), rankrun.environment().end());
    check_equal(environment, expected);
  }
  CHECK(ports[0] == ports[1]);
  rankrun.claim_port(static_cast<std::uint16_t>(std::stoul(ports[0])));
}

TEST_CASE("one worker keeps its OpenMP threads", "[e2e][environment]") {
  RankrunCase rankrun;
  run_environment_dump(rankrun, {});
  CHECK_FALSE(environment_of(rankrun, 0).contains("OMP_NUM_THREADS"));
}

TEST_CASE("variables that the user has set stay, and the launcher's are replaced",
          "[e2e][environment]") {
  RankrunCase rankrun;
  rankrun.set("OMP_NUM_THREADS", "5");
  rankrun.set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3");
  rankrun.set("CUDA_VISIBLE_DEVICES", "7,5");
  rankrun.set("RANK", "17");
  rankrun.set("TORCHELASTIC_USE_AGENT_STORE", "False");
  run_environment_dump(rankrun, {"--nproc-per-node=2"});
  const Environment environment = environment_of(rankrun, 1);
  CHECK(environment.at("OMP_NUM_THREADS") == "5");
  CHECK(environment.at("TORCH_NCCL_ASYNC_ERROR_HANDLING") == "3");
  CHECK(environment.at("CUDA_VISIBLE_DEVICES") == "7,5");
  CHECK(environment.at("RANK") == "1");
  CHECK(environment.at("TORCHELASTIC_USE_AGENT_STORE") == "True");
}

TEST_CASE("a job without a name gets a random one, the same for all ranks", "[e2e][environment]") {
  RankrunCase rankrun;
  const std::string option = GENERATE("--standalone", "--max-restarts=0");
  run_environment_dump(rankrun, {"--nproc-per-node=2", option});
  const std::string id = environment_of(rankrun, 0).at("TORCHELASTIC_RUN_ID");
  CHECK_THAT(id, Catch::Matches("[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}"));
  CHECK(environment_of(rankrun, 1).at("TORCHELASTIC_RUN_ID") == id);
}

TEST_CASE("options are set by either spelling and by variables, and the command line wins",
          "[e2e][environment]") {
  RankrunCase rankrun;
  rankrun.set("PET_NPROC_PER_NODE", "2");
  rankrun.set("PET_MAX_RESTARTS", "4");
  rankrun.set("PET_ROLE", "from-variable");
  rankrun.set("PET_RDZV_ID", "from-variable");
  run_environment_dump(rankrun, {"--max_restarts=6", "--rdzv-id", "typed"});
  const Environment environment = environment_of(rankrun, 1);
  CHECK(environment.at("WORLD_SIZE") == "2");
  CHECK(environment.at("TORCHELASTIC_MAX_RESTARTS") == "6");
  CHECK(environment.at("TORCHELASTIC_RUN_ID") == "typed");
  CHECK(environment.at("ROLE_NAME") == "from-variable");
  CHECK(environment.at("PET_MAX_RESTARTS") == "4");  // inherited as it is
}

TEST_CASE("workers inherit the working directory and stdin", "[e2e][environment]") {
  RankrunCase rankrun;
  rankrun.write("input", "typed by the user\n");
  rankrun.before_exec([] { ::dup2(::open("input", O_RDONLY | O_CLOEXEC), STDIN_FILENO); });
  const RunResult result = rankrun.run({"--no-python", "sh", "-c", "cat; pwd -P"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == "typed by the user\n" + rankrun.folder().string() + "\n");
}

}  // namespace rankrun::tests
