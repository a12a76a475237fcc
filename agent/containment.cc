// SPDX-License-Identifier: Apache-2.0
#include "agent/containment.h"

#include "agent/cgroup.h"
#include "agent/kernel_files.h"
#include "store/base/text.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace rankrun::agent {

using base::errno_failure;
using base::failure;
using base::Result;
namespace fs = std::filesystem;

namespace {

constexpr auto kCgroupRemedy =
    "leave --cgroup=required out, or run where cgroups may be made: as root on Linux 5.14 or "
    "later, or in a systemd unit with Delegate=yes";
constexpr auto kLimitRemedy =
    "leave --memory-max out, or run as root where version 1 of cgroups counts memory, or in the "
    "topmost cgroup of version 2";

Marks own_marks() {
  std::array<unsigned char, 16> bytes{};
  [[maybe_unused]] const auto got = ::getrandom(bytes.data(), bytes.size(), 0);
  const auto self = find_process("/proc", ::getpid());
  return {fmt::format("{:02x}", fmt::join(bytes, "")), {}, ::getuid(), self ? self->started : 0};
}

// Version 1 has a hierarchy of its own for memory.
std::optional<fs::path> find_memory_parent() {
  for (const OwnCgroup& own : own_cgroups(CgroupVersion::v1, "memory")) {
    if (own.is_ours) return own.path();
  }
  return std::nullopt;
}

Result<void> make_folder(const fs::path& path, const std::string& tried, const char* remedy) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return errno_failure(errno, tried + ": cannot make " + path.string(), remedy);
}

// Of version 2: its children may have limits of memory from now on.
bool allow_limits(const fs::path& cgroup) {
  const fs::path file = cgroup / "cgroup.subtree_control";
  const std::string controllers = read_kernel_file(file).value_or("");
  const auto words = base::split(controllers, ' ');
  return std::find(words.begin(), words.end(), "memory") != words.end() ||
         write_kernel_file(file, "+memory");
}

}  // namespace

Result<Containment> Containment::create(CgroupUse use, bool limits_memory, base::Logger log) {
  const auto cgroups = use != CgroupUse::off ? find_cgroup_parent() : std::nullopt;
  const auto memory_cgroups = limits_memory ? find_memory_parent() : std::nullopt;
  Containment containment(use, SharedMarks(own_marks(), cgroups, memory_cgroups), std::move(log));
  if (use == CgroupUse::required && !cgroups) {
    return failure(std::make_error_code(std::errc::operation_not_permitted),
                   "the workers cannot have a cgroup",
                   kCgroupRemedy);
  }
  return containment;
}

Containment::~Containment() {
  const bool was_unused = cgroup_ && !marks_.has_leaders();
  if (was_unused) remove_cgroups(marks_.remains());
}

Result<void> Containment::open_attempt() {
  const auto path = marks_.remains().cgroup;
  if (!path || cgroup_) return {};
  auto made = make_folder(*path, "the workers cannot have a cgroup", kCgroupRemedy);
  if (made && ::access((*path / "cgroup.kill").c_str(), W_OK) != 0) {
    made = errno_failure(errno, "the cgroup " + path->string() + " cannot kill", kCgroupRemedy);
    ::rmdir(path->c_str());
  }
  if (made) cgroup_ = base::UniqueFd(::open(path->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (made && !cgroup_) made = errno_failure(errno, "cannot open the cgroup " + path->string());
  if (!made && use_ == CgroupUse::required) return made;
  if (!made && std::exchange(had_cgroup_, false)) {
    log_->warn("{}; from now on, what workers leave behind is found by {}",
               made.error().message(),
               describe());
  }
  had_cgroup_ = had_cgroup_ || made.has_value();
  return {};
}

Result<Ties> Containment::tie(std::optional<std::uint64_t> memory_max) {
  Ties ties;
  auto opened = open_attempt();
  if (!opened) return failure(std::move(opened.error()));
  ties.cgroup = cgroup_.get();
  ties.mark = marks_.marks().mark;
  if (memory_max) {
    auto limited = limit_memory(*memory_max);
    if (!limited) return failure(std::move(limited.error()));
    ties.memory_cgroup = *std::move(limited);
    // Of version 2, which has it below the attempt's: only the innermost may have processes.
    if (ties.memory_cgroup->version == CgroupVersion::v2) ties.cgroup = -1;
  }
  ties.place = marks_.free_place();
  if (ties.place == nullptr) {
    return failure(std::make_error_code(std::errc::resource_unavailable_try_again),
                   "too many workers on one node",
                   "use fewer");
  }
  return ties;
}

// By version 1 where memory is in its hands, else below the attempt's cgroup.
Result<MemoryCgroup> Containment::limit_memory(std::uint64_t memory_max) {
  const std::string tried = fmt::format("cannot limit a worker to {} bytes", memory_max);
  const Remains remains = marks_.remains();
  const bool is_v1 = remains.memory_cgroup.has_value();
  if (!is_v1 && !cgroup_) {
    return failure(std::make_error_code(std::errc::operation_not_permitted), tried, kLimitRemedy);
  }
  const fs::path attempt = is_v1 ? *remains.memory_cgroup : *remains.cgroup;
  if (!is_v1 && !(allow_limits(attempt.parent_path()) && allow_limits(attempt))) {
    return errno_failure(errno, tried + " below " + attempt.string(), kLimitRemedy);
  }
  auto made = make_folder(attempt, tried, kLimitRemedy);
  const fs::path worker = attempt / fmt::format("worker-{}", limited_++);
  if (made) made = make_folder(worker, tried, kLimitRemedy);
  if (!made) return failure(std::move(made.error()));
  const fs::path file = worker / (is_v1 ? "memory.limit_in_bytes" : "memory.max");
  if (!write_kernel_file(file, std::to_string(memory_max))) {
    return errno_failure(errno, tried + " by " + file.string(), kLimitRemedy);
  }
  return MemoryCgroup{is_v1 ? CgroupVersion::v1 : CgroupVersion::v2, worker};
}

void Containment::close_attempt() {
  cgroup_.reset();
  remove_cgroups(marks_.remains());
  marks_.next_attempt();
  limited_ = 0;
}

std::string Containment::describe() const {
  if (!cgroup_) return "their session and environment mark";
  return "a cgroup per attempt, below " + marks_.remains().cgroup->parent_path().string();
}

}  // namespace rankrun::agent
