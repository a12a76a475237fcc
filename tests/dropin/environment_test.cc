// SPDX-License-Identifier: Apache-2.0
// What a worker finds in its environment, and that its store is there (torchrun.md section 2).
#include "tests/dropin/drop_in.h"
#include "tests/store/client.h"

#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>

namespace rankrun::tests {

using store::test::Client;

namespace {

// A port that is free now.
std::uint16_t free_port() {
  const base::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  REQUIRE(::bind(fd.get(), generic, size) == 0);
  REQUIRE(::getsockname(fd.get(), generic, &size) == 0);
  return ntohs(address.sin_port);
}

// The variables that have the expected names but not the expected values.
void expect_variables(DropIn& job, int rank, const Environment& expected) {
  const Environment environment = environment_of(job, rank);
  for (const auto& [name, value] : expected) {
    job.expect_equal(name + " of rank " + std::to_string(rank), value_of(environment, name), value);
  }
}

bool is_uuid(const std::string& text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::equal(text.begin(), text.end(), kForm.begin(), kForm.end(), [](char c, char form) {
    return form == '-' ? c == '-' : std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

void use_one_cpu() {
  cpu_set_t allowed;
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  std::size_t first = 0;
  while (!CPU_ISSET(first, &allowed)) {
    ++first;
  }
  CPU_ZERO(&allowed);
  CPU_SET(first, &allowed);
  ::sched_setaffinity(0, sizeof allowed, &allowed);
}

int usable_cpus() {
  cpu_set_t allowed;
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  return CPU_COUNT(&allowed);
}

}  // namespace

RANKRUN_DROP_IN_CASE("a single worker gets every variable") {
  job.expect_exit(job.run_worker(kWriteEnvironment), 0);
  expect_variables(job,
                   0,
                   {{"LOCAL_RANK", "0"},
                    {"RANK", "0"},
                    {"GROUP_RANK", "0"},
                    {"ROLE_RANK", "0"},
                    {"ROLE_NAME", "default"},
                    {"LOCAL_WORLD_SIZE", "1"},
                    {"WORLD_SIZE", "1"},
                    {"GROUP_WORLD_SIZE", "1"},
                    {"ROLE_WORLD_SIZE", "1"},
                    {"TORCHELASTIC_RESTART_COUNT", "0"},
                    {"TORCHELASTIC_MAX_RESTARTS", "0"},
                    {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                    {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"},
                    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                    {"OMP_NUM_THREADS", "(unset)"}});
  const Environment environment = environment_of(job, 0);
  job.expect(environment.contains("MASTER_ADDR"), "there is a MASTER_ADDR");
  job.expect(is_uuid(value_of(environment, "TORCHELASTIC_RUN_ID")), "the job id is random");
}

RANKRUN_DROP_IN_CASE("of several workers each gets its ranks, and all the same job") {
  job.expect_exit(job.run_worker(kWriteEnvironment,
                                 {"--nproc-per-node=3",
                                  "--role=trainer",
                                  "--max-restarts=3",
                                  "--rdzv-backend=c10d",
                                  "--rdzv-endpoint=localhost:0",
                                  "--rdzv-id=job7",
                                  "--log-dir=logs"}),
                  0);
  for (const int rank : {0, 1, 2}) {
    const std::string number = std::to_string(rank);
    expect_variables(job,
                     rank,
                     {{"LOCAL_RANK", number},
                      {"RANK", number},
                      {"GROUP_RANK", "0"},
                      {"ROLE_RANK", number},
                      {"ROLE_NAME", "trainer"},
                      {"LOCAL_WORLD_SIZE", "3"},
                      {"WORLD_SIZE", "3"},
                      {"GROUP_WORLD_SIZE", "1"},
                      {"ROLE_WORLD_SIZE", "3"},
                      {"MASTER_PORT", value_of(environment_of(job, 0), "MASTER_PORT")},
                      {"TORCHELASTIC_RUN_ID", "job7"},
                      {"TORCHELASTIC_MAX_RESTARTS", "3"},
                      {"OMP_NUM_THREADS", "1"}});
    const std::string file = value_of(environment_of(job, rank), "TORCHELASTIC_ERROR_FILE");
    job.expect(file.find("logs/job7_") != std::string::npos &&
                   file.ends_with("/attempt_0/" + number + "/error.json"),
               "error file of rank " + number,
               file);
  }
}

RANKRUN_DROP_IN_CASE("variables of the user stay, but the launcher's are replaced") {
  job.set("OMP_NUM_THREADS", "5");
  job.set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3");
  job.set("CUDA_VISIBLE_DEVICES", "7,5");
  job.set("NCCL_DEBUG", "INFO");
  job.set("PET_ROLE", "user's");
  job.set("RANK", "17");
  job.set("MASTER_PORT", "1");
  job.set("TORCHELASTIC_USE_AGENT_STORE", "False");
  job.expect_exit(job.run_worker(kWriteEnvironment, {"--nproc-per-node=2"}), 0);
  expect_variables(job,
                   1,
                   {{"OMP_NUM_THREADS", "5"},
                    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "3"},
                    {"CUDA_VISIBLE_DEVICES", "7,5"},
                    {"NCCL_DEBUG", "INFO"},
                    {"PET_ROLE", "user's"},
                    {"ROLE_NAME", "user's"},
                    {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  job.expect(value_of(environment_of(job, 1), "MASTER_PORT") != "1", "MASTER_PORT is replaced");
}

RANKRUN_DROP_IN_CASE("the signals to handle are told to the workers") {
  job.expect_exit(job.run_worker(kWriteEnvironment, {"--signals-to-handle=SIGTERM,SIGUSR1"}), 0);
  expect_variables(job, 0, {{"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGUSR1"}});
}

RANKRUN_DROP_IN_CASE("a standalone job overrides the rendezvous that is given") {
  job.expect_exit(job.run_worker(kWriteEnvironment,
                                 {"--standalone",
                                  "--rdzv-backend=nope",
                                  "--rdzv-endpoint=no.such.host:1",
                                  "--rdzv-id=given"}),
                  0);
  job.expect(is_uuid(value_of(environment_of(job, 0), "TORCHELASTIC_RUN_ID")),
             "the job id is random");
}

RANKRUN_DROP_IN_CASE("a given job id is kept on a bare single-node run") {
  job.torchrun_differs("overwrites it with a random one", {"TORCHELASTIC_RUN_ID of rank 0"});
  job.expect_exit(job.run_worker(kWriteEnvironment, {"--rdzv-id=mine"}), 0);
  expect_variables(job, 0, {{"TORCHELASTIC_RUN_ID", "mine"}});
}

RANKRUN_DROP_IN_CASE("the workers' store answers where the variables say") {
  job.start_worker(
      std::string(kWriteEnvironment) + "touch ready.$RANK; until [ -e go ]; do sleep 0.02; done",
      {"--nproc-per-node=2"});
  if (!job.expect_file("ready.0") || !job.expect_file("ready.1")) return;
  const auto ports = job.worker_ports();
  job.expect(ports.size() == 2 && ports[0] == ports[1], "both have the same port");
  CHECK_NOTHROW(Client(ports[0]).greet());
  job.write("go", "");
  job.expect_exit(job.wait(), 0);
}

RANKRUN_DROP_IN_CASE("a static rendezvous is where the workers' store is") {
  const std::string port = std::to_string(free_port());
  const std::vector<std::string> options =
      GENERATE(true, false)
          ? std::vector{"--rdzv-endpoint=127.0.0.1:" + port}
          : std::vector{std::string("--master-addr=127.0.0.1"), "--master-port=" + port};
  job.start_worker(
      std::string(kWriteEnvironment) + "touch ready; until [ -e go ]; do sleep 0.02; done",
      options);
  if (!job.expect_file("ready")) return;
  expect_variables(job,
                   0,
                   {{"MASTER_ADDR", "127.0.0.1"},
                    {"MASTER_PORT", port},
                    {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  CHECK_NOTHROW(Client(static_cast<std::uint16_t>(std::stoul(port))).greet());
  job.write("go", "");
  job.expect_exit(job.wait(), 0);
}

RANKRUN_DROP_IN_CASE("workers are told the local address as the master's") {
  job.expect_exit(job.run_worker(kWriteEnvironment, {"--local-addr=127.0.0.2"}), 0);
  expect_variables(job, 0, {{"MASTER_ADDR", "127.0.0.2"}});
}

RANKRUN_DROP_IN_CASE("with a virtual local rank each worker sees one device, as its first") {
  SECTION("of the list") {
    job.set("CUDA_VISIBLE_DEVICES", "3, GPU-8");
    job.expect_exit(
        job.run_worker(kWriteEnvironment, {"--virtual-local-rank", "--nproc-per-node=2"}), 0);
    expect_variables(job, 0, {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"CUDA_VISIBLE_DEVICES", "3"}});
    expect_variables(
        job, 1, {{"RANK", "1"}, {"LOCAL_RANK", "0"}, {"CUDA_VISIBLE_DEVICES", "GPU-8"}});
  }
  SECTION("without a list") {
    job.set("PET_VIRTUAL_LOCAL_RANK", "1");
    job.expect_exit(job.run_worker(kWriteEnvironment, {"--nproc-per-node=2"}), 0);
    expect_variables(job, 1, {{"LOCAL_RANK", "0"}, {"CUDA_VISIBLE_DEVICES", "1"}});
  }
}

RANKRUN_DROP_IN_CASE("one worker per CPU heeds the CPUs that the launcher may use") {
  job.before_exec(use_one_cpu);
  job.expect_exit(job.run_worker(kWriteEnvironment, {"--nproc-per-node=cpu"}), 0);
  expect_variables(job, 0, {{"WORLD_SIZE", "1"}});
}

RANKRUN_DROP_IN_CASE("without GPUs the automatic number of workers is that of the CPUs") {
  job.set("CUDA_VISIBLE_DEVICES", "");
  job.expect_exit(job.run_worker(kWriteEnvironment, {"--nproc-per-node=auto"}), 0);
  expect_variables(job, 0, {{"WORLD_SIZE", std::to_string(usable_cpus())}});
}

RANKRUN_DROP_IN_CASE("with the null device as log directory there are no error files") {
  job.expect_exit(job.run_worker(kWriteEnvironment, {"--log-dir=/dev/null"}), 0);
  expect_variables(job, 0, {{"TORCHELASTIC_ERROR_FILE", ""}});
}

}  // namespace rankrun::tests
