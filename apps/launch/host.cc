// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/host.h"

#include "agent/cpu_quota.h"
#include "agent/devices.h"
#include "agent/nvml.h"
#include "agent/placement.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace rankrun::launch {
namespace {

CpuCount usable_cpus() {
  const int allowed = static_cast<int>(agent::own_cpus().size());
  std::string how = fmt::format("CPU affinity: {}", allowed);
  const auto quota = agent::cpu_quota();
  if (!quota) return {allowed, std::move(how)};
  how += fmt::format(", cgroup quota: {:.4g}", *quota);
  return {std::max(1, static_cast<int>(std::min<double>(*quota, allowed))), std::move(how)};
}

DeviceCount visible_gpus(const std::optional<std::string>& list) {
  auto visible = agent::visible_devices(agent::read_gpus(), list);
  return {visible.count, std::move(visible.how)};
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

HostFacts probe_host(const agent::Environment& environment) {
  const auto list = agent::value_of(environment, "CUDA_VISIBLE_DEVICES");
  return {usable_cpus, [list] { return visible_gpus(list); }, random_id()};
}

}  // namespace rankrun::launch
