// SPDX-License-Identifier: Apache-2.0
#include "agent/worker_env.h"

#include "agent/devices.h"
#include "store/base/assert.h"

#include <fmt/format.h>

namespace rankrun::agent {

namespace {

// Every worker is local rank 0 of a device list with one entry, its own.
void show_one_device(Environment& env, int local_rank) {
  const auto device = virtual_device(value_of(env, "CUDA_VISIBLE_DEVICES"), local_rank);
  RANKRUN_ASSERT(device);  // the option parser refuses lists that are too short
  env.insert_or_assign("CUDA_VISIBLE_DEVICES", *device);
  env.insert_or_assign("LOCAL_RANK", "0");
}

}  // namespace

Environment worker_environment(const LaunchConfig& config,
                               const rendezvous::View& view,
                               int local_rank,
                               const WorkerFiles& files) {
  const rendezvous::RankAssignment& ranks = view.ranks;
  Environment env = config.environment;
  const auto set_number = [&env](const char* name, int value) {
    env.insert_or_assign(name, std::to_string(value));
  };
  set_number("LOCAL_RANK", local_rank);
  set_number("RANK", ranks.first_rank + local_rank);
  set_number("GROUP_RANK", ranks.group_rank);
  set_number("ROLE_RANK", ranks.first_role_rank + local_rank);
  set_number("LOCAL_WORLD_SIZE", ranks.local_world_size);
  set_number("WORLD_SIZE", ranks.world_size);
  set_number("GROUP_WORLD_SIZE", ranks.group_world_size);
  set_number("ROLE_WORLD_SIZE", ranks.role_world_size);
  set_number("MASTER_PORT", view.master_port);
  set_number("TORCHELASTIC_RESTART_COUNT", view.restart_count);
  set_number("TORCHELASTIC_MAX_RESTARTS", config.max_restarts);
  env.insert_or_assign("ROLE_NAME", config.role);
  env.insert_or_assign("MASTER_ADDR", view.master_addr);
  env.insert_or_assign("TORCHELASTIC_RUN_ID", config.run_id);
  // The one switch that makes every rank a client of our store instead of rank 0 a server.
  env.insert_or_assign("TORCHELASTIC_USE_AGENT_STORE", "True");
  env.insert_or_assign("TORCHELASTIC_ERROR_FILE", files.error);
  if (!files.heartbeat.empty()) env.insert_or_assign("RANKRUN_HEARTBEAT_FILE", files.heartbeat);
  if (config.timer_file) env.insert_or_assign("TORCHELASTIC_TIMER_FILE", *config.timer_file);
  env.try_emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  if (config.threads) set_number("OMP_NUM_THREADS", *config.threads);
  if (config.local_world_size > 1) env.try_emplace("OMP_NUM_THREADS", "1");
  if (config.virtual_local_rank) show_one_device(env, local_rank);
  return env;
}

std::vector<std::string> environment_lines(const Environment& environment) {
  std::vector<std::string> lines;
  lines.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    lines.push_back(fmt::format("{}={}", name, value));
  }
  return lines;
}

}  // namespace rankrun::agent
