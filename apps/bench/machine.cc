// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/machine.h"

#include <fmt/format.h>

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

namespace rankrun::bench {

using base::failure;
using base::Result;
namespace fs = std::filesystem;

namespace {

// What follows "key" and a colon on the first such line of the file; empty when there is none.
std::string field(const fs::path& file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  }
  return {};
}

Result<long> number_in(const fs::path& file, std::string_view key) {
  std::istringstream text(field(file, key));
  long value = 0;
  if (text >> value) return value;
  return failure({}, fmt::format("cannot read {} from {}", key, file.string()));
}

Result<double> bytes_in_status(pid_t process, std::string_view key) {
  const Result<long> kib = number_in(fmt::format("/proc/{}/status", process), key);
  if (!kib) return failure(kib.error());
  return static_cast<double>(*kib) * 1024;
}

}  // namespace

Machine describe_machine() {
  utsname kernel{};
  ::uname(&kernel);
  return {.cpu_model = field("/proc/cpuinfo", "model name"),
          .cores = static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN)),
          .kernel = fmt::format("{} {}", kernel.sysname, kernel.release)};
}

double load_average() {
  double last_minute = 0;
  ::getloadavg(&last_minute, 1);
  return last_minute;
}

Result<double> resident_bytes(pid_t process) {
  return bytes_in_status(process, "VmRSS");
}

Result<double> peak_resident_bytes(pid_t process) {
  return bytes_in_status(process, "VmHWM");
}

Result<double> private_bytes(pid_t process) {
  return bytes_in_status(process, "RssAnon");
}

Result<long> voluntary_switches(pid_t process) {
  std::error_code error;
  long sum = 0;
  for (const auto& thread : fs::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
    const Result<long> count = number_in(thread.path() / "status", "voluntary_ctxt_switches");
    if (!count) return failure(count.error());
    sum += *count;
  }
  if (error) return failure(error, fmt::format("cannot list the threads of process {}", process));
  return sum;
}

std::vector<pid_t> children_of(pid_t process) {
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", process));
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) {
    children.push_back(child);
  }
  return children;
}

std::string name_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace rankrun::bench
