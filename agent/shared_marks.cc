// SPDX-License-Identifier: Apache-2.0
#include "agent/shared_marks.h"

#include <fmt/format.h>

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace rankrun::agent {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostLeaders = 1 << 16;  // twice what kernels allow by default (pid_max)

}  // namespace

// Only those of its pages that are written to take memory.
struct SharedMarks::Page {
  std::atomic<int> attempt;
  std::atomic<std::size_t> places;  // taken of these
  std::array<std::atomic<pid_t>, kMostLeaders> leaders;
};

void SharedMarks::Unmap::operator()(Page* page) const {
  ::munmap(page, sizeof(Page));
}

SharedMarks::SharedMarks(Marks marks,
                         std::optional<fs::path> cgroups,
                         std::optional<fs::path> memory_cgroups)
    : marks_(std::move(marks)),
      cgroups_(std::move(cgroups)),
      memory_cgroups_(std::move(memory_cgroups)) {
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  void* page = ::mmap(nullptr, sizeof(Page), kAccess, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::bad_alloc();
  page_.reset(static_cast<Page*>(page));  // the kernel's zeros are what its members start with
}

std::atomic<pid_t>* SharedMarks::free_place() {
  const std::size_t place = page_->places;
  if (place == kMostLeaders) return nullptr;
  page_->places = place + 1;
  return &page_->leaders.at(place);
}

bool SharedMarks::has_leaders() const {
  return page_->places > 0;
}

void SharedMarks::next_attempt() {
  const std::size_t places = page_->places;
  page_->places = 0;
  for (std::size_t i = 0; i < places; ++i) {
    page_->leaders.at(i) = 0;
  }
  ++page_->attempt;
}

Remains SharedMarks::remains() const {
  Remains remains{marks_, cgroups_, memory_cgroups_};
  for (std::size_t i = 0; i < page_->places; ++i) {
    const pid_t leader = page_->leaders.at(i);
    if (leader != 0) remains.marks.leaders.push_back(leader);
  }
  const std::string name = fmt::format("rankrun-{}-{}", marks_.mark, page_->attempt.load());
  if (remains.cgroup) *remains.cgroup /= name;
  if (remains.memory_cgroup) *remains.memory_cgroup /= name;
  return remains;
}

}  // namespace rankrun::agent
