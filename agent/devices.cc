// SPDX-License-Identifier: Apache-2.0
#include "agent/devices.h"

#include "store/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace rankrun::agent {

using base::escape_control;
using base::failure;
using base::Result;
using base::split;
using base::trimmed;

namespace {

constexpr std::string_view kGpu = "GPU-";
constexpr std::string_view kMig = "MIG-";

std::vector<Device> all_gpus(const GpuInventory& inventory) {
  std::vector<Device> devices;
  for (const Gpu& gpu : inventory.gpus) {
    devices.push_back({devices.size(), gpu.uuid, {}});
  }
  return devices;
}

std::vector<Device> all_mig_devices(const GpuInventory& inventory) {
  std::vector<Device> devices;
  for (std::size_t gpu = 0; gpu < inventory.gpus.size(); ++gpu) {
    for (const MigDevice& mig : inventory.gpus[gpu].mig_devices) {
      devices.push_back({gpu, mig.uuid, mig.legacy_name});
    }
  }
  return devices;
}

// As strtol: "+1" and "1gpu" are 1.
std::optional<Device> find_by_index(const std::vector<Device>& devices, std::string_view entry) {
  if (entry.starts_with('+')) entry.remove_prefix(1);
  int index = -1;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  if (error != std::errc() || index < 0) return std::nullopt;
  if (static_cast<std::size_t>(index) >= devices.size()) return std::nullopt;
  return devices[static_cast<std::size_t>(index)];
}

// A full name, or the beginning of the UUID of one device only.
std::optional<Device> find_by_name(const std::vector<Device>& devices, std::string_view entry) {
  const auto named = std::find_if(devices.begin(), devices.end(), [entry](const Device& device) {
    return device.uuid == entry || device.legacy_name == entry;
  });
  if (named != devices.end()) return *named;
  const auto abbreviated = [entry](const Device& device) { return device.uuid.starts_with(entry); };
  const auto first = std::find_if(devices.begin(), devices.end(), abbreviated);
  if (first == devices.end()) return std::nullopt;
  const bool is_unique = std::none_of(std::next(first), devices.end(), abbreviated);
  return is_unique ? std::optional(*first) : std::nullopt;
}

// What a device list names, as far as CUDA reads it.
struct Selection {
  std::vector<Device> devices;
  std::string remark;  // why it is less than the list has; empty when it is not
};

// All entries are of the kind of the first: indices, GPUs or slices.
Selection select(const GpuInventory& inventory, std::string_view list) {
  const std::string_view kind = list.starts_with(kMig)   ? kMig
                                : list.starts_with(kGpu) ? kGpu
                                                         : std::string_view();
  const auto candidates = kind == kMig ? all_mig_devices(inventory) : all_gpus(inventory);
  Selection selection;
  for (const std::string_view part : split(list, ',')) {
    const std::string_view entry = trimmed(part);
    std::optional<Device> device;
    if (kind.empty()) {
      device = find_by_index(candidates, entry);
    } else if (entry.starts_with(kind)) {
      device = find_by_name(candidates, entry);
    }
    if (!device) {
      selection.remark = fmt::format(": '{}' ends the list", escape_control(entry));
      break;
    }
    auto& devices = selection.devices;
    if (std::find(devices.begin(), devices.end(), *device) != devices.end()) {
      return {{}, fmt::format(": '{}' is there twice, which hides all", escape_control(entry))};
    }
    devices.push_back(*std::move(device));
  }
  return selection;
}

}  // namespace

VisibleDevices visible_devices(const GpuInventory& inventory,
                               const std::optional<std::string>& list) {
  if (!list) {
    const int count = static_cast<int>(inventory.gpus.size());
    return {all_gpus(inventory), count, inventory.how};
  }
  const std::string_view text = trimmed(*list);
  if (text.empty()) return {{}, 0, inventory.how + ", CUDA_VISIBLE_DEVICES is empty"};
  Selection selection = select(inventory, text);
  const int named = static_cast<int>(selection.devices.size());
  const bool is_mig = text.starts_with(kMig);
  std::string how = fmt::format("{}, CUDA_VISIBLE_DEVICES names {} {}{}",
                                inventory.how,
                                named,
                                is_mig ? "MIG devices" : "of them",
                                selection.remark);
  if (is_mig && named > 1) how += ", of which a process sees one";
  return {std::move(selection.devices), is_mig ? std::min(named, 1) : named, std::move(how)};
}

Result<std::string> virtual_device(const std::optional<std::string>& list, int local_rank) {
  if (!list) return std::to_string(local_rank);
  const auto entries = split(*list, ',');
  const auto index = static_cast<std::size_t>(local_rank);
  if (index < entries.size()) return std::string(trimmed(entries[index]));
  return failure(
      {},
      fmt::format(
          "local rank {} exceeds available GPUs in CUDA_VISIBLE_DEVICES={}", local_rank, *list),
      "start fewer workers or name more devices");
}

}  // namespace rankrun::agent
