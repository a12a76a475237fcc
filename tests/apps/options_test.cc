// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/options.h"

#include <catch2/catch.hpp>

namespace rankrun::launch {
namespace {

using agent::Environment;
using agent::LaunchConfig;
using agent::ProgramKind;
using Words = std::vector<std::string>;

const HostFacts usual_host{.usable_cpus = 6, .gpus = 0, .random_id = "random"};

LaunchConfig config(Words arguments,
                    const Environment& env = {},
                    const HostFacts& host = usual_host) {
  arguments.emplace_back("x.py");
  const auto invocation = parse_invocation(arguments, env, host);
  if (!invocation) FAIL(invocation.error().message());
  return std::get<LaunchConfig>(*invocation);
}

std::string refused(Words arguments,
                    const Environment& env = {},
                    const HostFacts& host = usual_host) {
  arguments.emplace_back("x.py");
  const auto invocation = parse_invocation(arguments, env, host);
  REQUIRE_FALSE(invocation);
  return invocation.error().message();
}

TEST_CASE("a bare command is one worker on loopback under a random id", "[launch][options]") {
  const LaunchConfig bare = config({}, {{"HOME", "/h"}});
  CHECK(bare.program == agent::Program{ProgramKind::python_script, "x.py", {}});
  CHECK(bare.local_world_size == 1);
  CHECK(bare.max_restarts == 0);
  CHECK(bare.run_id == "random");
  CHECK(bare.role == "default");
  CHECK(bare.master_addr == "127.0.0.1");
  CHECK(bare.master_port == 0);
  CHECK(bare.log_dir == std::nullopt);
  CHECK(bare.shutdown_timeout == std::chrono::seconds(30));
  CHECK(bare.environment == Environment{{"HOME", "/h"}});
}

TEST_CASE("the number of workers is a number or follows the machine", "[launch][options]") {
  CHECK(config({"--nproc-per-node=12"}).local_world_size == 12);
  CHECK(config({"--nproc-per-node=cpu"}).local_world_size == 6);
  CHECK(config({"--nproc-per-node=auto"}).local_world_size == 6);
  HostFacts gpus = usual_host;
  gpus.gpus = 4;
  CHECK(config({"--nproc-per-node=auto"}, {}, gpus).local_world_size == 4);
  CHECK(config({"--nproc-per-node=gpu"}, {}, gpus).local_world_size == 4);
  CHECK(
      config({"--nproc-per-node=gpu"}, {{"CUDA_VISIBLE_DEVICES", "1,3"}}, gpus).local_world_size ==
      2);
  CHECK(config({"--nproc-per-node=gpu"}, {{"CUDA_VISIBLE_DEVICES", "1,-1,3"}}, gpus)
            .local_world_size == 1);
  CHECK(config({"--nproc-per-node=auto"}, {{"CUDA_VISIBLE_DEVICES", ""}}, gpus).local_world_size ==
        6);
  CHECK_THAT(refused({"--nproc-per-node=gpu"}), Catch::Contains("no GPU found"));
  for (const auto* value : {"0", "-1", "foo", "", "1.5", "99999999"}) {
    CHECK_THAT(
        refused({std::string("--nproc-per-node=") + value}),
        Catch::StartsWith(std::string("--nproc-per-node=") + value + ": invalid value; use"));
  }
}

TEST_CASE("one node in every spelling, and no more than one", "[launch][options]") {
  for (const auto* value : {"1", "1:1", " 1 "}) {
    CHECK(config({std::string("--nnodes=") + value}).local_world_size == 1);
  }
  for (const auto* value : {"0", "1:0", "2:1", "a", "1:2:3", ""}) {
    CHECK_THAT(refused({std::string("--nnodes=") + value}), Catch::Contains("MIN:MAX"));
  }
  for (const auto* value : {"2", "1:2"}) {
    CHECK_THAT(refused({std::string("--nnodes=") + value}), Catch::Contains("not supported yet"));
  }
  CHECK_THAT(refused({"--node-rank=1"}), Catch::Contains("--node-rank=1"));
}

TEST_CASE("the store's address comes from the endpoint or the address options",
          "[launch][options]") {
  const auto master = [](const Words& arguments) {
    const LaunchConfig made = config(arguments);
    return made.master_addr + " " + std::to_string(made.master_port);
  };
  CHECK(master({"--master-port=29500"}) == "127.0.0.1 29500");
  CHECK(master({"--master-addr=10.0.0.1"}) == "10.0.0.1 0");
  CHECK(master({"--local-addr=node1"}) == "node1 0");
  CHECK(master({"--master-addr=a", "--local-addr=b"}) == "a 0");
  CHECK(master({"--master-addr=::1", "--master-port=1"}) == "::1 1");
  CHECK(master({"--master-addr=[::1]"}) == "::1 0");
  CHECK_THAT(refused({"--master-addr=node1:29500"}), Catch::Contains("--master-port"));
  CHECK(master({"--rdzv-endpoint=[::1]:7"}) == "::1 7");
  CHECK(master({"--rdzv-endpoint=node1", "--master-port=8"}) == "node1 8");
  CHECK(master({"--rdzv-backend=c10d", "--rdzv-endpoint=node1:29400"}) == "127.0.0.1 0");
  CHECK(master({"--standalone", "--rdzv-endpoint=node1:29400"}) == "127.0.0.1 0");
  CHECK_THAT(refused({"--rdzv-endpoint=node1"}), Catch::Contains("has no port"));
  CHECK_THAT(refused({"--rdzv-backend=c10d", "--rdzv-endpoint=node1:x"}),
             Catch::Contains("--rdzv-endpoint"));
  CHECK_THAT(refused({"--master-port=65536"}), Catch::Contains("--master-port=65536"));
  CHECK_THAT(refused({"--master-addr=no de"}), Catch::Contains("--master-addr"));
}

TEST_CASE("the job's id is the given one, else random, else none", "[launch][options]") {
  CHECK(config({"--rdzv-id=job7"}).run_id == "job7");
  CHECK(config({"--standalone", "--rdzv-id=job7"}).run_id == "random");
  CHECK(config({"--master-port=29500"}).run_id == "none");
  CHECK(config({"--rdzv-backend=c10d"}).run_id == "none");
  CHECK_THAT(refused({"--rdzv-id="}), Catch::Contains("--rdzv-id="));
}

TEST_CASE("backends that are not there are refused by name", "[launch][options]") {
  CHECK_THAT(refused({"--rdzv-backend=etcd-v2"}), Catch::Contains("not supported yet"));
  CHECK_THAT(refused({"--rdzv-backend=nope"}), Catch::Contains("use c10d or static"));
}

TEST_CASE("rendezvous options are key=value pairs", "[launch][options]") {
  CHECK(config({"--rdzv-conf= a=1 , b=x=y"}).run_id == "random");
  CHECK(config({"--rdzv-conf="}).run_id == "random");
  CHECK_THAT(refused({"--rdzv-conf=a=1, backend =x"}), Catch::Contains("--rdzv-endpoint"));
  for (const auto* value : {"abc", "a=", "=1", "a=1,,b=2", "a=1,", "a= "}) {
    CHECK_THAT(refused({std::string("--rdzv-conf=") + value}), Catch::Contains("key=value"));
  }
}

TEST_CASE("numbers have their range", "[launch][options]") {
  CHECK(config({"--max-restarts=3"}).max_restarts == 3);
  CHECK(config({"--shutdown-timeout=0"}).shutdown_timeout == std::chrono::seconds(0));
  CHECK(config({}, {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"}}).shutdown_timeout ==
        std::chrono::seconds(7));
  CHECK(config({"--shutdown-timeout=5"}, {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "x"}})
            .shutdown_timeout == std::chrono::seconds(5));
  CHECK(config({"--monitor-interval=0.1"}).max_restarts == 0);
  CHECK(config({"--monitor-interval= +1e-1 "}).max_restarts == 0);
  CHECK_THAT(refused({"--max-restarts=-1"}), Catch::Contains("whole number from 0"));
  CHECK_THAT(refused({"--max-restarts=x"}), Catch::Contains("--max-restarts=x"));
  CHECK_THAT(refused({"--shutdown-timeout=-1"}), Catch::Contains("--shutdown-timeout=-1"));
  CHECK_THAT(refused({}, {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "x"}}),
             Catch::Contains("TORCH_ELASTIC_SHUTDOWN_TIMEOUT=x"));
  for (const auto* value : {"0", "-1", "x", "", "inf", "nan"}) {
    CHECK_THAT(refused({std::string("--monitor-interval=") + value}),
               Catch::Contains("seconds above 0"));
  }
  CHECK_THAT(refused({}, {{"LOGLEVEL", "loud"}}), Catch::Contains("LOGLEVEL=loud"));
}

TEST_CASE("a bad value is named by what set it", "[launch][options]") {
  CHECK_THAT(refused({"--master-port=x"}), Catch::StartsWith("--master-port=x: "));
  CHECK_THAT(refused({}, {{"PET_MASTER_PORT", "x"}}), Catch::StartsWith("PET_MASTER_PORT=x: "));
}

TEST_CASE("a program is a script, a module or an executable", "[launch][options]") {
  CHECK(config({"-m"}).program.kind == ProgramKind::python_module);
  CHECK(config({"--no-python"}).program.kind == ProgramKind::executable);
  CHECK(config({"--legacy"}).serve_legacy_anywhere);
  CHECK(config({"--log-dir=/logs"}).log_dir == "/logs");
  CHECK_THAT(refused({"-m", "--no-python"}), Catch::Contains("exclude each other"));
  CHECK_FALSE(parse_invocation({}, {}, usual_host));
}

TEST_CASE("help and version are printed instead of launching", "[launch][options]") {
  const auto print = [](const Words& arguments) {
    const auto invocation = parse_invocation(arguments, {}, usual_host);
    REQUIRE(invocation);
    return std::get<PrintText>(*invocation).text;
  };
  CHECK_THAT(print({"--help"}), Catch::StartsWith("usage: rankrun"));
  CHECK(print({"-h"}) == print({"--help"}));
  CHECK_THAT(print({"--version"}), Catch::StartsWith("rankrun "));
}

}  // namespace
}  // namespace rankrun::launch
