// SPDX-License-Identifier: Apache-2.0
#include "agent/hints.h"

#include "tests/support/job_reports.h"

#include <catch2/catch.hpp>

#include <csignal>

namespace rankrun::agent {
namespace {

using Catch::Contains;
using tests::ended_worker;
using tests::failed_job;
using tests::failed_worker;

std::vector<std::string> hints_for(const std::string& line) {
  return hints(failed_job({failed_worker(0, 1, {"something before", line, "something after"})}));
}

TEST_CASE("messages that users meet most are explained", "[agent][hints]") {
  // What PyTorch, NCCL, Gloo and Python print.
  const auto [message, remedy] = GENERATE(table<std::string, std::string>({
      {"ModuleNotFoundError: No module named 'torch'", "PYTHON_EXEC"},
      {"OSError: [Errno 98] Address already in use", "ss -ltnp"},
      {"torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
       "network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: "
       "address already in use",
       "ss -ltnp"},
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a "
       "total capacity of 79.10 GiB of which 1.02 GiB is free.",
       "nvidia-smi"},
      {"RuntimeError: CUDA error: out of memory", "nvidia-smi"},
      {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
       "nvidia-smi"},
      {"torch.distributed.DistBackendError: NCCL error in: "
       "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, unhandled system error (run "
       "with NCCL_DEBUG=INFO for details), NCCL version 2.20.5",
       "NCCL_DEBUG=INFO"},
      {"ConnectionRefusedError: [Errno 111] Connection refused", "MASTER_ADDR"},
      {"[E socket.cpp:957] [c10d] The client socket has timed out after 60s while trying to "
       "connect to (10.0.0.7, 29500).",
       "MASTER_ADDR"},
      {"OSError: [Errno 28] No space left on device", "df -h"},
      {"RuntimeError: DataLoader worker (pid 4242) is killed by signal: Bus error. It is possible "
       "that dataloader's workers are out of shared memory. Please try to raise your shared "
       "memory limit.",
       "--shm-size"},
      {"ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
       "shared memory (shm).",
       "--shm-size"},
  }));
  INFO(message);
  const auto found = hints_for(message);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Contains(remedy) && !Contains("\n") && !Contains("{"));
}

TEST_CASE("the signal of a worker's death is explained", "[agent][hints]") {
  const auto [signal, remedy] = GENERATE(
      table<int, std::string>({{SIGKILL, "dmesg"}, {SIGBUS, "/dev/shm"}, {SIGILL, "another CPU"}}));
  const bool by_shell = GENERATE(false, true);
  const auto status =
      by_shell ? ExitStatus::exited(128 + signal) : ExitStatus::signaled(signal, false);
  const auto found = hints(failed_job({ended_worker(0, status)}));
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Contains(remedy));
}

TEST_CASE("lack of memory is explained only when the kernel confirms it", "[agent][hints]") {
  JobReport report = failed_job({ended_worker(0, ExitStatus::signaled(SIGKILL, false))});
  CHECK_THAT(hints(report).at(0), Contains("the kernel tells of no lack of memory"));
  report.workers[0].memory_kill = OutOfMemory{};
  CHECK_THAT(hints(report).at(0), Contains("--memory-max"));
  CHECK(hints(report).size() == 1);
  report.workers[0].end = ended_worker(0, ExitStatus::exited(1)).end;
  CHECK_THAT(hints(report).at(0), Contains("the kernel killed a process here"));
}

TEST_CASE("nobody looks for the killer of a worker whose timer expired", "[agent][hints]") {
  WorkerReport worker = ended_worker(0, ExitStatus::signaled(SIGKILL, false));
  worker.expired_timer = "timer 'epoch' expired";
  CHECK(hints(failed_job({worker})).empty());
}

TEST_CASE("a failure that nobody knows has no hint", "[agent][hints]") {
  CHECK(hints_for("ValueError: 3").empty());
  CHECK(hints(failed_job({ended_worker(0, ExitStatus::signaled(SIGSEGV, false))})).empty());
  CHECK(hints(JobReport()).empty());
}

TEST_CASE("a missing torch is explained by the interpreter", "[agent][hints]") {
  JobReport report =
      failed_job({failed_worker(0, 1, {"ModuleNotFoundError: No module named 'torch'"})});
  report.job.interpreter = "/usr/bin/python3";
  CHECK_THAT(hints(report).at(0), Contains("/usr/bin/python3"));
}

TEST_CASE("workers that rankrun stopped give no hints", "[agent][hints]") {
  CHECK(hints(failed_job({failed_worker(0, 1, {"ValueError"}),
                          ended_worker(1, ExitStatus::signaled(SIGKILL, false), SIGKILL)}))
            .empty());
}

TEST_CASE("hints about the root cause come first, and none twice", "[agent][hints]") {
  JobReport report = failed_job({failed_worker(0, 1, {"Connection refused"}),
                                 failed_worker(1, 1, {"CUDA out of memory"}),
                                 failed_worker(2, 1, {"CUDA out of memory"})});
  report.ending.failure->local_rank = 2;
  const auto found = hints(report);
  REQUIRE(found.size() == 2);
  CHECK_THAT(found[0], Contains("nvidia-smi"));
  CHECK_THAT(found[1], Contains("MASTER_ADDR"));
}

TEST_CASE("an error file is looked at, too", "[agent][hints]") {
  WorkerReport worker = failed_worker(0, 1, {});
  worker.error_file =
      ErrorFile{"error.json", WorkerError{"RuntimeError", "cause:\nCUDA out of memory"}, ""};
  CHECK(hints(failed_job({worker})).size() == 1);
}

}  // namespace
}  // namespace rankrun::agent
