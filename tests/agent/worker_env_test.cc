// SPDX-License-Identifier: Apache-2.0
#include "agent/worker_env.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

LaunchConfig config_for(int workers) {
  LaunchConfig config;
  config.run_id = "job1";
  config.role = "trainer";
  config.local_world_size = workers;
  config.max_restarts = 3;
  config.environment = {{"HOME", "/home/x"}, {"RANK", "stale"}};
  return config;
}

rendezvous::View second_node() {
  rendezvous::View view;
  view.ranks =
      rendezvous::assign_ranks(std::vector<rendezvous::Member>{{"trainer", 4}, {"trainer", 2}})[1];
  view.master_addr = "10.0.0.1";
  view.master_port = 29500;
  view.restart_count = 1;
  return view;
}

TEST_CASE("a worker gets every variable that torchrun sets", "[agent][env]") {
  const Environment env =
      worker_environment(config_for(2), second_node(), 1, {"/logs/error.json", ""});
  CHECK(env == Environment{{"GROUP_RANK", "1"},
                           {"GROUP_WORLD_SIZE", "2"},
                           {"HOME", "/home/x"},
                           {"LOCAL_RANK", "1"},
                           {"LOCAL_WORLD_SIZE", "2"},
                           {"MASTER_ADDR", "10.0.0.1"},
                           {"MASTER_PORT", "29500"},
                           {"OMP_NUM_THREADS", "1"},
                           {"RANK", "5"},
                           {"ROLE_NAME", "trainer"},
                           {"ROLE_RANK", "5"},
                           {"ROLE_WORLD_SIZE", "6"},
                           {"TORCHELASTIC_ERROR_FILE", "/logs/error.json"},
                           {"TORCHELASTIC_MAX_RESTARTS", "3"},
                           {"TORCHELASTIC_RESTART_COUNT", "1"},
                           {"TORCHELASTIC_RUN_ID", "job1"},
                           {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                           {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                           {"WORLD_SIZE", "6"}});
}

TEST_CASE("a worker is told where to set timers", "[agent][env]") {
  LaunchConfig config = config_for(1);
  config.environment["TORCHELASTIC_TIMER_FILE"] = "/of/another/job";
  CHECK(worker_environment(config, second_node(), 0, {"", ""}).at("TORCHELASTIC_TIMER_FILE") ==
        "/of/another/job");
  config.timer_file = "/tmp/timers";
  CHECK(worker_environment(config, second_node(), 0, {"", ""}).at("TORCHELASTIC_TIMER_FILE") ==
        "/tmp/timers");
}

TEST_CASE("a heartbeat file is named where there is one", "[agent][env]") {
  const Environment env = worker_environment(config_for(1), second_node(), 0, {"", "/logs/beat"});
  CHECK(env.at("RANKRUN_HEARTBEAT_FILE") == "/logs/beat");
}

TEST_CASE("what the user set for OpenMP and NCCL is kept", "[agent][env]") {
  LaunchConfig config = config_for(2);
  config.environment["OMP_NUM_THREADS"] = "8";
  config.environment["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "0";
  const Environment env = worker_environment(config, second_node(), 0, {});
  CHECK(env.at("OMP_NUM_THREADS") == "8");
  CHECK(env.at("TORCH_NCCL_ASYNC_ERROR_HANDLING") == "0");
}

TEST_CASE("a single worker keeps all threads", "[agent][env]") {
  const Environment env = worker_environment(config_for(1), second_node(), 0, {});
  CHECK_FALSE(env.contains("OMP_NUM_THREADS"));
}

TEST_CASE("the threads that the user asks for win over the environment", "[agent][env]") {
  LaunchConfig config = config_for(2);
  config.environment["OMP_NUM_THREADS"] = "8";
  config.threads = 3;
  CHECK(worker_environment(config, second_node(), 0, {}).at("OMP_NUM_THREADS") == "3");
}

TEST_CASE("with virtual local ranks every worker is the first of its one device", "[agent][env]") {
  LaunchConfig config = config_for(2);
  config.virtual_local_rank = true;
  const Environment without_list = worker_environment(config, second_node(), 1, {});
  CHECK(without_list.at("LOCAL_RANK") == "0");
  CHECK(without_list.at("CUDA_VISIBLE_DEVICES") == "1");
  CHECK(without_list.at("RANK") == "5");
  config.environment["CUDA_VISIBLE_DEVICES"] = "7, 3";
  CHECK(worker_environment(config, second_node(), 1, {}).at("CUDA_VISIBLE_DEVICES") == "3");
}

TEST_CASE("an environment becomes lines in order of name", "[agent][env]") {
  CHECK(environment_lines({{"B", "2=3"}, {"A", ""}}) == std::vector<std::string>{"A=", "B=2=3"});
}

}  // namespace
}  // namespace rankrun::agent
