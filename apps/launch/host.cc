// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/host.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace rankrun::launch {
namespace {

int usable_cpus() {
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0) return CPU_COUNT(&cpus);
  return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));  // more CPUs than the set holds
}

int gpu_devices() {
  int count = 0;
  while (::access(fmt::format("/dev/nvidia{}", count).c_str(), F_OK) == 0) {
    ++count;
  }
  return count;
}

// A random UUID (version 4).
std::string random_id() {
  std::array<std::uint8_t, 16> bytes{};
  [[maybe_unused]] const auto got = ::getrandom(bytes.data(), bytes.size(), 0);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

}  // namespace

void open_standard_descriptors() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR);  // NOLINT(android-cloexec-open): meant to be inherited
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) ::close(fd);
}

agent::Environment read_environment() {
  agent::Environment environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.try_emplace(std::string(text.substr(0, equals)), text.substr(equals + 1));
  }
  return environment;
}

HostFacts probe_host() {
  const auto visible_gpus = [] { return DeviceCount{gpu_devices(), "files /dev/nvidiaN"}; };
  return {usable_cpus(), "CPU affinity", visible_gpus, random_id()};
}

}  // namespace rankrun::launch
