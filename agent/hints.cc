// SPDX-License-Identifier: Apache-2.0
#include "agent/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>

namespace rankrun::agent {

namespace {

constexpr std::size_t kMostHints = 4;

struct TextHint {
  std::string_view pattern;  ///< part of what a worker wrote
  std::string_view hint;     ///< {} stands for the interpreter
};

struct SignalHint {
  int signal;
  std::string_view hint;
};

constexpr std::string_view kNoTorch =
    "the interpreter was {}; to use another, set PYTHON_EXEC to a Python that has torch";
constexpr std::string_view kPortTaken =
    "a port is taken: find its owner with `ss -ltnp`; leave MASTER_PORT to rankrun (no "
    "--master-port) and give servers of your own port 0";
constexpr std::string_view kGpuMemory =
    "the GPU is out of memory: see in nvidia-smi who else uses it; else a smaller batch or "
    "activation checkpointing";
constexpr std::string_view kNccl =
    "NCCL failed: run again with NCCL_DEBUG=INFO; check that all ranks use the same NCCL and that "
    "NCCL_SOCKET_IFNAME names the network between the nodes";
constexpr std::string_view kNoAnswer =
    "nothing answered at an address: leave MASTER_ADDR and MASTER_PORT as rankrun sets them, and "
    "see whether the process that should listen there has died";
constexpr std::string_view kDiskFull =
    "a file system is full: see `df -h`, also /dev/shm and /tmp (in containers: --shm-size)";
constexpr std::string_view kSharedMemory =
    "shared memory is probably full: see `df -h /dev/shm`; in containers give more with "
    "--shm-size, or use fewer DataLoader workers";
constexpr std::string_view kKilled =
    "SIGKILL did not come from rankrun, and the kernel tells of no lack of memory in the worker's "
    "cgroup: see `dmesg`, and who else ends processes here";
constexpr std::string_view kOutOfMemory =
    "give it more memory (--memory-max, or the limit of the container or job), or use less: a "
    "smaller batch, fewer DataLoader workers";
constexpr std::string_view kOtherOutOfMemory =
    "meanwhile the kernel killed a process here for lack of memory, maybe one that the worker had "
    "started (a DataLoader worker): use fewer or smaller ones, or give more memory";
constexpr std::string_view kIllegalInstruction =
    "the program or one of its libraries was built for another CPU: install builds for this one "
    "(see /proc/cpuinfo)";

constexpr std::array kTextHints = {
    TextHint{"No module named 'torch'", kNoTorch},
    TextHint{"EADDRINUSE", kPortTaken},
    TextHint{"ddress already in use", kPortTaken},
    TextHint{"CUDA out of memory", kGpuMemory},
    TextHint{"CUDA error: out of memory", kGpuMemory},
    TextHint{"CUBLAS_STATUS_ALLOC_FAILED", kGpuMemory},
    TextHint{"NCCL error", kNccl},
    TextHint{"Connection refused", kNoAnswer},
    TextHint{"The client socket has", kNoAnswer},
    TextHint{"No space left on device", kDiskFull},
    TextHint{"out of shared memory", kSharedMemory},
    TextHint{"insufficient shared memory", kSharedMemory},
};

constexpr std::array kSignalHints = {
    SignalHint{SIGBUS, kSharedMemory},
    SignalHint{SIGKILL, kKilled},
    SignalHint{SIGILL, kIllegalInstruction},
};

bool wrote(const WorkerReport& worker, std::string_view pattern) {
  const auto has = [pattern](const std::string& text) {
    return text.find(pattern) != std::string::npos;
  };
  if (worker.error_file && worker.error_file->error) {
    const WorkerError& error = *worker.error_file->error;
    if (has(error.message) || has(error.call_stack)) return true;
  }
  return std::any_of(worker.last_lines.begin(), worker.last_lines.end(), has);
}

std::vector<std::string_view> hints_about(const WorkerReport& worker) {
  std::vector<std::string_view> found;
  for (const TextHint& row : kTextHints) {
    if (wrote(worker, row.pattern)) found.push_back(row.hint);
  }
  if (worker.memory_kill) {
    found.push_back(worker.ran_out_of_memory() ? kOutOfMemory : kOtherOutOfMemory);
    return found;
  }
  if (!worker.expired_timer.empty()) return found;  // which says where the signal came from
  for (const SignalHint& row : kSignalHints) {
    if (ended_by(worker.end->status, row.signal)) found.push_back(row.hint);
  }
  return found;
}

}  // namespace

std::vector<std::string> hints(const JobReport& report) {
  std::vector<std::string_view> found;
  const auto add = [&found](const WorkerReport& worker) {
    if (worker.outcome() != WorkerOutcome::failed) return;
    for (const std::string_view hint : hints_about(worker)) {
      const bool is_new = std::find(found.begin(), found.end(), hint) == found.end();
      if (is_new && found.size() < kMostHints) found.push_back(hint);
    }
  };
  if (const WorkerReport* root = report.root_cause()) add(*root);
  std::for_each(report.workers.begin(), report.workers.end(), add);

  std::vector<std::string> texts;
  texts.reserve(found.size());
  for (const std::string_view hint : found) {
    texts.push_back(fmt::format(fmt::runtime(hint), report.job.interpreter.value_or("unknown")));
  }
  return texts;
}

}  // namespace rankrun::agent
