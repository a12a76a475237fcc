// SPDX-License-Identifier: Apache-2.0
#include "agent/cpu_quota.h"

#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

#include <string>

namespace rankrun::agent {
namespace {

constexpr auto kVersion1 =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu\n";
constexpr auto kVersion2 = "29 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";

// A host as seen below a folder.
class FakeHost {
 public:
  FakeHost(const std::string& cgroup, const std::string& mounts) {
    root_.file("proc/self/cgroup", cgroup);
    root_.file("proc/self/mountinfo", mounts);
  }
  void set_v1(const std::string& cgroup, const std::string& quota, const std::string& period) {
    root_.file(cgroup + "/cpu.cfs_quota_us", quota + "\n");
    root_.file(cgroup + "/cpu.cfs_period_us", period + "\n");
  }
  void set_v2(const std::string& cgroup, const std::string& limit) {
    root_.file(cgroup + "/cpu.max", limit + "\n");
  }
  std::optional<double> quota() const { return cpu_quota(root_.path()); }

 private:
  tests::TempDir root_;
};

TEST_CASE("a limit of CPU time is a number of cores", "[agent][cpu_quota]") {
  CHECK(parse_cpu_max("150000 100000") == 1.5);
  CHECK(parse_cpu_max("max 100000") == std::nullopt);
  CHECK(parse_cfs_quota("50000", "100000") == 0.5);
  CHECK(parse_cfs_quota("-1", "100000") == std::nullopt);
}

TEST_CASE("a limit that makes no sense is none", "[agent][cpu_quota]") {
  for (const auto* text : {"", "100000", "1 2 3", "x y", "0 100000", "100000 0", "-5 -5"}) {
    INFO(text);
    CHECK(parse_cpu_max(text) == std::nullopt);
  }
}

TEST_CASE("the smallest limit from the cgroup to its root counts", "[agent][cpu_quota]") {
  FakeHost host("0::/jobs/job1/step\n", kVersion2);
  CHECK(host.quota() == std::nullopt);
  host.set_v2("sys/fs/cgroup/jobs/job1/step", "max 100000");
  CHECK(host.quota() == std::nullopt);
  host.set_v2("sys/fs/cgroup/jobs/job1", "400000 100000");
  CHECK(host.quota() == 4.0);
  host.set_v2("sys/fs/cgroup/jobs", "250000 100000");
  CHECK(host.quota() == 2.5);
  host.set_v2("sys/fs/cgroup/other", "100000 100000");
  CHECK(host.quota() == 2.5);
}

TEST_CASE("version 1 is found by its controller", "[agent][cpu_quota]") {
  FakeHost host("3:cpuset:/elsewhere\n2:cpuacct:/wrong\n1:cpu:/pod/worker\n", kVersion1);
  host.set_v1("sys/fs/cgroup/cpu/pod", "300000", "100000");
  host.set_v1("sys/fs/cgroup/cpu/pod/worker", "-1", "100000");
  host.set_v1("sys/fs/cgroup/cpu/elsewhere", "100000", "100000");
  host.set_v1("sys/fs/cgroup/cpuacct/wrong", "100000", "100000");
  CHECK(host.quota() == 3.0);
}

TEST_CASE("both versions side by side are both obeyed", "[agent][cpu_quota]") {
  FakeHost host("1:cpu,cpuacct:/a\n0::/b\n",
                "32 31 0:29 / /mnt/one rw - cgroup cgroup rw,cpu,cpuacct\n"
                "41 31 0:38 / /mnt/two rw - cgroup2 cgroup2 rw\n");
  host.set_v1("mnt/one/a", "300000", "100000");
  host.set_v2("mnt/two/b", "200000 100000");
  CHECK(host.quota() == 2.0);
  host.set_v1("mnt/one/a", "100000", "100000");
  CHECK(host.quota() == 1.0);
}

TEST_CASE("a container that mounts its own cgroup sees its limits", "[agent][cpu_quota]") {
  FakeHost host("1:cpu:/docker/abc/inner\n",
                "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
  host.set_v1("sys/fs/cgroup/cpu", "200000", "100000");
  CHECK(host.quota() == 2.0);
  host.set_v1("sys/fs/cgroup/cpu/inner", "100000", "100000");
  CHECK(host.quota() == 1.0);
}

TEST_CASE("where no mount shows our cgroup its top is ours", "[agent][cpu_quota]") {
  FakeHost host("0::/docker/abc\n",
                "29 22 0:26 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  host.set_v2("sys/fs/cgroup", "200000 100000");
  CHECK(host.quota() == 2.0);
}

TEST_CASE("the cgroup of somebody else that is mounted, too, does not limit us",
          "[agent][cpu_quota]") {
  FakeHost host(
      "0::/ours\n",
      std::string(kVersion2) + "30 22 0:26 /theirs /mnt/theirs rw - cgroup2 cgroup2 rw\n");
  host.set_v2("mnt/theirs", "100000 100000");
  host.set_v2("sys/fs/cgroup/ours", "200000 100000");
  CHECK(host.quota() == 2.0);
}

TEST_CASE("a mount point with a space in its name is found", "[agent][cpu_quota]") {
  FakeHost host("0::/\n", "29 22 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
  host.set_v2("my groups", "200000 100000");
  CHECK(host.quota() == 2.0);
}

TEST_CASE("a host that tells nothing or nonsense of its cgroups sets no limit",
          "[agent][cpu_quota]") {
  const tests::TempDir empty;
  CHECK(cpu_quota(empty.path()) == std::nullopt);
  const std::string garbage = "0::\n::\nx\n1:cpu\n- - - - -\n29 22 / - cgroup2\n\\04 \\999 -";
  CHECK(FakeHost(garbage, garbage).quota() == std::nullopt);
}

}  // namespace
}  // namespace rankrun::agent
