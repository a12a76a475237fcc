// SPDX-License-Identifier: Apache-2.0
#include "agent/live_groups.h"

#include "agent/process_table.h"

namespace rankrun::agent {

bool LiveGroups::contains(pid_t group, base::TimePoint since) {
  if (looked_at_ <= since) look();
  return groups_.contains(group);
}

void LiveGroups::look() {
  looked_at_ = base::Clock::now();
  groups_.clear();
  for_each_process(proc_, [this](const ProcessEntry& entry) {
    if (!entry.is_zombie()) groups_.insert(entry.group);
  });
}

}  // namespace rankrun::agent
