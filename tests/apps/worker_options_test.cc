// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/worker_options.h"

#include "tests/apps/launch_case.h"

#include <signal.h>

namespace rankrun::launch {
namespace {

using agent::Environment;
using agent::NumaBinding;
using agent::ProgramKind;

TEST_CASE("the number of workers is a number or follows the machine", "[launch][workers]") {
  CHECK(config({"--nproc-per-node=12"}).local_world_size == 12);
  CHECK(config({"--nproc-per-node= +1_2 "}).local_world_size == 12);
  CHECK(config({"--nproc-per-node=cpu"}).local_world_size == 6);
  CHECK(config({"--nproc-per-node=auto"}).local_world_size == 6);
  CHECK(config({"--nproc-per-node=auto"}, {}, 4).local_world_size == 4);
  CHECK(config({"--nproc-per-node=gpu"}, {}, 4).local_world_size == 4);
}

TEST_CASE("a number of workers that was found is told with how", "[launch][workers]") {
  CHECK(config({"--nproc-per-node=3"}).notices.empty());
  CHECK(config({"--nproc-per-node=cpu"}).notices ==
        Words{"--nproc-per-node=cpu: 6 workers, one per usable core: affinity"});
  CHECK(config({"--nproc-per-node=gpu"}, {}, 1).notices ==
        Words{"--nproc-per-node=gpu: 1 worker, one per GPU: counted by the test"});
  CHECK(config({}, {{"PET_NPROC_PER_NODE", "auto"}}).notices ==
        Words{"PET_NPROC_PER_NODE=auto: 6 workers, one per usable core: affinity; no GPU: counted "
              "by the test"});
}

TEST_CASE("GPUs are counted only where their number matters", "[launch][workers]") {
  HostFacts host = host_with_gpus(0);
  int asked = 0;
  host.visible_gpus = [&asked] {
    ++asked;
    return DeviceCount{2, ""};
  };
  const auto times_asked = [&](const std::string& workers) {
    asked = 0;
    const Words arguments = {"--nproc-per-node=" + workers, "x.py"};
    REQUIRE(parse_invocation(arguments, {}, host));
    return asked;
  };
  CHECK(times_asked("2") == 0);
  CHECK(times_asked("cpu") == 0);
  CHECK(times_asked("gpu") == 1);
  CHECK(times_asked("auto") == 1);
}

TEST_CASE("numbers of workers that cannot be are refused", "[launch][workers]") {
  CHECK(refused({"--nproc-per-node=gpu"}) ==
        "--nproc-per-node=gpu: no GPU found (counted by the test); use a number, cpu or auto");
  CHECK_THAT(refused({"--nproc-per-node=xpu"}), Catch::Contains("cannot count Intel GPUs"));
  for (const auto* value : {"0", "-1", "foo", "hpu", "", "1.5", "99999999", "GPU"}) {
    CHECK_THAT(refused({std::string("--nproc-per-node=") + value}),
               Catch::StartsWith(std::string("--nproc-per-node=") + value + ": invalid value; ") &&
                   Catch::EndsWith("from 1 to 4096, auto, cpu or gpu"));
  }
}

TEST_CASE("a program is a script, a module or an executable", "[launch][workers]") {
  CHECK(config({}).program == agent::Program{ProgramKind::python_script, "x.py", {}});
  CHECK(config({"-m"}).program.kind == ProgramKind::python_module);
  CHECK(config({"--no-python"}).program.kind == ProgramKind::executable);
  CHECK_THAT(refused({"-m", "--no-python"}), Catch::Contains("exclude each other"));
  CHECK_THAT(refused({"", "a"}), Catch::Contains("name is empty"));
}

TEST_CASE("a run path is a Python script, whatever else is said", "[launch][workers]") {
  CHECK(config({"--run-path"}).program.kind == ProgramKind::python_script);
  CHECK(config({"--run-path", "--no-python"}).program.kind == ProgramKind::python_script);
  CHECK(config({"--run-path", "-m", "--no-python"}).program.kind == ProgramKind::python_script);
  CHECK(config({"--run-path", "--start-method=fork"}).program.kind == ProgramKind::python_script);
}

TEST_CASE("the old launcher's arguments inject the local rank unless told otherwise",
          "[launch][workers]") {
  const auto arguments = [](Words words) { return config(std::move(words)).program.arguments; };
  CHECK(arguments({}).empty());
  CHECK(arguments({"--torch-launch", "--nproc_per_node=2"}) == Words{"--local-rank=${local_rank}"});
  CHECK(arguments({"--torch-launch", "--use-env"}).empty());
  CHECK(arguments({"--torch-launch", "--use_env"}).empty());
  CHECK(arguments({"--use_env"}).empty());
}

TEST_CASE("threads are given or the cores divided by the workers", "[launch][workers]") {
  CHECK(config({}).threads == std::nullopt);
  CHECK(config({"--threads=3"}).threads == 3);
  CHECK(config({"--threads=auto"}).threads == 6);
  CHECK(config({"--threads=auto", "--nproc-per-node=4"}).threads == 1);
  CHECK(config({"--threads=auto", "--nproc-per-node=64"}).threads == 1);
  for (const auto* value : {"0", "-1", "", "many", "1.5"}) {
    CHECK_THAT(refused({std::string("--threads=") + value}), Catch::EndsWith("number from 1"));
  }
}

TEST_CASE("times of hangs and restarts are seconds with fractions", "[launch][workers]") {
  using std::chrono::milliseconds;
  CHECK(config({}).hang_timeout == milliseconds(0));
  CHECK(config({"--hang-timeout=0.3"}).hang_timeout == milliseconds(300));
  CHECK(config({}, {{"PET_HANG_TIMEOUT", "600"}}).hang_timeout == milliseconds(600000));
  CHECK(config({}).restart_delay == milliseconds(0));
  CHECK(config({"--restart-delay", "1.5"}).restart_delay == milliseconds(1500));
  for (const auto* value : {"-1", "nan", "inf", "1e10"}) {
    CHECK(refused({std::string("--hang-timeout=") + value}) ==
          std::string("--hang-timeout=") + value + ": invalid value; use seconds from 0");
    CHECK_THAT(refused({std::string("--restart-delay=") + value}), Catch::EndsWith("from 0"));
  }
}

TEST_CASE("the same failure may end as many attempts as is said", "[launch][workers]") {
  CHECK(config({}).max_same_failure == 0);
  CHECK(config({"--max-same-failure=3"}).max_same_failure == 3);
  CHECK_THAT(refused({"--max-same-failure=-1"}), Catch::EndsWith("number from 0"));
}

TEST_CASE("stdin goes to a worker that exists", "[launch][workers]") {
  CHECK(config({}).stdin_rank == std::nullopt);
  CHECK(config({"--stdin-rank=1", "--nproc-per-node=2"}).stdin_rank == 1);
  CHECK_THAT(refused({"--stdin-rank=2", "--nproc-per-node=2"}), Catch::EndsWith("from 0 to 1"));
  CHECK_THAT(refused({"--stdin-rank=1"}), Catch::EndsWith("use 0"));
  CHECK_THAT(refused({"--stdin-rank=x"}), Catch::EndsWith("use a whole number"));
}

TEST_CASE("workers are bound to CPUs in four ways", "[launch][workers]") {
  CHECK(config({}).numa_binding == std::nullopt);
  CHECK(config({"--numa-binding=node"}).numa_binding == NumaBinding::node);
  CHECK(config({"--numa-binding=socket"}).numa_binding == NumaBinding::socket);
  CHECK(config({"--numa-binding=exclusive"}).numa_binding == NumaBinding::exclusive);
  CHECK(config({"--numa-binding=core-complex"}).numa_binding == NumaBinding::core_complex);
  CHECK_THAT(refused({"--numa-binding=core_complex"}), Catch::Contains("core-complex"));
}

TEST_CASE("cgroups are used where they can be, unless it is said otherwise", "[launch][workers]") {
  CHECK(config({}).cgroup == agent::CgroupUse::automatic);
  CHECK(config({"--cgroup=auto"}).cgroup == agent::CgroupUse::automatic);
  CHECK(config({"--cgroup=required"}).cgroup == agent::CgroupUse::required);
  CHECK(config({"--cgroup=off"}).cgroup == agent::CgroupUse::off);
  CHECK_THAT(usage_error({"--cgroup=on"}).error.message(), Catch::Contains("--cgroup"));
}

TEST_CASE("a memory limit is a number of bytes with a suffix", "[launch][workers]") {
  CHECK(config({}).memory_max == std::nullopt);
  CHECK(config({"--memory-max="}).memory_max == std::nullopt);
  CHECK(config({"--memory-max=1048576"}).memory_max == 1U << 20);
  CHECK(config({"--memory-max=3072K"}).memory_max == 3U << 20);
  CHECK(config({"--memory-max=512M"}).memory_max == 512U << 20);
  CHECK(config({"--memory-max=2G"}).memory_max == std::uint64_t{2} << 30);
  CHECK(config({"--memory-max=1T"}).memory_max == std::uint64_t{1} << 40);
  for (const auto* text :
       {"0", "-1", "M", "1.5G", "5MB", "5m", "G5", "1023K", "4096", "9999999999999T"}) {
    INFO(text);
    CHECK_THAT(usage_error({std::string("--memory-max=") + text}).error.message(),
               Catch::Contains("K, M, G or T"));
  }
}

TEST_CASE("virtual local ranks need a device for every worker", "[launch][workers]") {
  const auto devices = [](const std::string& list) {
    return Environment{{"CUDA_VISIBLE_DEVICES", list}};
  };
  const Words two = {"--virtual-local-rank", "--nproc-per-node=2"};
  CHECK_FALSE(config({}).virtual_local_rank);
  CHECK(config(two).virtual_local_rank);
  CHECK(config(two, devices("3,7")).virtual_local_rank);
  CHECK(config(two, devices("GPU-1, GPU-2,GPU-3")).virtual_local_rank);
  CHECK(config({"--nproc-per-node=2"}, devices("3")).local_world_size == 2);
  for (const auto* list : {"3", ""}) {
    CHECK(refused(two, devices(list)) ==
          std::string("--virtual-local-rank: CUDA_VISIBLE_DEVICES=") + list +
              " names fewer devices than the 2 workers; name one device per worker, or start fewer "
              "workers");
  }
}

TEST_CASE("four signals are handled unless others are named", "[launch][workers]") {
  const auto handled = [](const std::string& names) {
    return config({"--signals-to-handle=" + names}).handled_signals;
  };
  CHECK(config({}).handled_signals == std::set<int>{SIGTERM, SIGINT, SIGHUP, SIGQUIT});
  CHECK(handled("SIGUSR1") == std::set<int>{SIGUSR1});
  CHECK(handled(" TERM , SIGUSR2,SIGTERM") == std::set<int>{SIGTERM, SIGUSR2});
  CHECK(config({}, {{"PET_SIGNALS_TO_HANDLE", "USR1"}}).handled_signals == std::set<int>{SIGUSR1});
}

TEST_CASE("workers are told of the signals as they were given", "[launch][workers]") {
  constexpr auto kVariable = "TORCHELASTIC_SIGNALS_TO_HANDLE";
  CHECK(config({}).environment.at(kVariable) == "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
  CHECK(
      config({"--signals-to-handle= TERM,USR1"}, {{kVariable, "old"}}).environment.at(kVariable) ==
      " TERM,USR1");
}

TEST_CASE("signals that cannot be handled are refused", "[launch][workers]") {
  const auto refusal = [](const std::string& names) {
    return refused({"--signals-to-handle=" + names});
  };
  for (const auto* names : {"", "SIGTERM,", "SIGFOO", "15", "sigterm", "SIG", "SIGSIGTERM"}) {
    CHECK_THAT(refusal(names), Catch::Contains("is no signal; write names as SIGTERM,SIGUSR1"));
  }
  CHECK_THAT(refusal("SIGTERM,SIGKILL"), Catch::Contains("'SIGKILL' cannot be caught"));
  CHECK_THAT(refusal("STOP"), Catch::Contains("'STOP' cannot be caught"));
  CHECK_THAT(refusal("SIGCHLD"), Catch::Contains("end of its workers"));
}

TEST_CASE("restarts, timeouts and intervals have their range", "[launch][workers]") {
  using std::chrono::seconds;
  const Environment seven = {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"}};
  CHECK(config({"--max-restarts=3"}).max_restarts == 3);
  CHECK(config({}).shutdown_timeout == seconds(30));
  CHECK(config({"--shutdown-timeout=0"}).shutdown_timeout == seconds(0));
  CHECK(config({}, seven).shutdown_timeout == seconds(7));
  CHECK(config({"--shutdown-timeout=5"}, seven).shutdown_timeout == seconds(5));
  CHECK(config({"--shutdown-timeout=5"}, {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "x"}})
            .shutdown_timeout == seconds(5));
  CHECK_THAT(refused({"--max-restarts=-1"}), Catch::EndsWith("whole number from 0"));
  CHECK_THAT(refused({"--max-restarts=99999999999999999999"}),
             Catch::EndsWith("whole number from 0 to 2147483647"));
  CHECK_THAT(refused({"--shutdown-timeout=-1"}), Catch::Contains("--shutdown-timeout=-1"));
  for (const auto* value : {"x", "-1", "", "99999999999"}) {
    CHECK_THAT(refused({}, {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", value}}),
               Catch::StartsWith(std::string("TORCH_ELASTIC_SHUTDOWN_TIMEOUT=") + value + ": "));
  }
  for (const auto* value : {"0.1", " +1e-1 ", "1_0"}) {
    CHECK(config({std::string("--monitor-interval=") + value}).max_restarts == 0);
  }
  for (const auto* value : {"0", "-1", "inf", "nan"}) {
    CHECK_THAT(refused({std::string("--monitor-interval=") + value}),
               Catch::EndsWith("seconds above 0"));
  }
}

TEST_CASE("SIGTERM stops or notifies", "[launch][workers]") {
  CHECK(config({}).on_term == agent::OnTerm::stop);
  CHECK(config({"--on-term=stop"}).on_term == agent::OnTerm::stop);
  CHECK(config({"--on-term=notify"}).on_term == agent::OnTerm::notify);
  CHECK_THAT(refused({"--on-term=ignore"}), Catch::EndsWith("use one of stop, notify"));
}

}  // namespace
}  // namespace rankrun::launch
