// SPDX-License-Identifier: Apache-2.0
// Nothing is left behind, however the launch ends. The oracle shares nothing with rankrun: every
// process of a worker's tree holds a FIFO open for writing, and its reader must see end of file.
#include "agent/containment.h"
#include "tests/support/rankrun_case.h"
#include "tests/support/silent_log.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

namespace rankrun::tests {
namespace {

constexpr auto kLimit = std::chrono::seconds(20);

class Tree {
 public:
  explicit Tree(const RankrunCase& test) {
    const std::string path = test.folder() / "tree";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    reader_ = base::UniqueFd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(reader_);
  }

  /// Whether all that had opened it has ended.
  bool has_ended() const {
    char byte = 0;
    return ::read(reader_.get(), &byte, 1) == 0;
  }

  /// The same, within the limit.
  bool ends() const {
    const base::TimePoint deadline = base::Clock::now() + kLimit;
    while (!has_ended() && base::Clock::now() < deadline) {
      pollfd end{.fd = reader_.get(), .events = POLLIN, .revents = 0};
      ::poll(&end, 1, 100);
    }
    return has_ended();
  }

 private:
  base::UniqueFd reader_;
};

// What a worker starts before it sleeps; `stray` is the last one, which says that it runs.
struct Stray {
  const char* what;
  const char* script;
  bool needs_cgroup;
};

constexpr Stray kStrays[] = {
    {"a child", "sh stray &", false},
    {"a child of a child that has ended", "(sh stray &)", false},
    {"a process with a session of its own", "setsid -f sh stray", false},
    {"a process that ignores SIGTERM", "(trap '' TERM; sh stray) &", false},
    {"a process without environment in its worker's session", "env -i /bin/sh stray &", false},
    {"a process that has left the session and its environment",
     "setsid -f env -i /bin/sh stray",
     true},
};

bool may_make_cgroups() {
  auto containment =
      agent::Containment::create(agent::CgroupUse::required, false, tests::silent_log());
  return containment && containment->open_attempt();
}

void prepare(const RankrunCase& test, const Stray& stray) {
  test.write("stray", ": > stray.runs; exec /bin/sleep 1000");
  test.write_program("worker",
                     std::string("exec 9> tree\n") + stray.script + "\n" +
                         "while ! [ -e stray.runs ]; do /bin/sleep 0.01; done\n" +
                         "${END:-exec /bin/sleep 1000}\n");
}

std::vector<std::string> modes_for(const Stray& stray) {
  std::vector<std::string> modes;
  if (!stray.needs_cgroup) modes.emplace_back("off");
  if (may_make_cgroups()) {
    modes.emplace_back("required");
  } else {
    std::printf("SKIPPED: %s in a cgroup: we may not make cgroups here\n", stray.what);
  }
  return modes;
}

TEST_CASE("SIGKILL to rankrun leaves nothing behind", "[orphans]") {
  for (const Stray& stray : kStrays) {
    for (const std::string& mode : modes_for(stray)) {
      INFO(stray.what << ", --cgroup=" << mode);
      RankrunCase test;
      const Tree tree(test);
      prepare(test, stray);
      test.start({"--cgroup", mode, "--no-python", "./worker"});
      test.wait_for_file("stray.runs");
      test.signal(SIGKILL);
      test.wait();
      CHECK(tree.ends());
      test.empty_temp_folder();
    }
  }
}

TEST_CASE("SIGKILL to rankrun's whole process group leaves nothing behind", "[orphans]") {
  RankrunCase test;
  const Tree tree(test);
  prepare(test, kStrays[2]);
  test.before_exec([] { ::setpgid(0, 0); });
  test.start({"--no-python", "./worker"});
  test.wait_for_file("stray.runs");
  ::kill(-test.pid(), SIGKILL);
  test.wait();
  CHECK(tree.ends());
  test.empty_temp_folder();
}

TEST_CASE("what a worker leaves behind is gone when rankrun ends", "[orphans]") {
  for (const Stray& stray : kStrays) {
    for (const std::string& mode : modes_for(stray)) {
      INFO(stray.what << ", --cgroup=" << mode);
      RankrunCase test;
      const Tree tree(test);
      prepare(test, stray);
      test.set("END", "exit 0");
      CHECK_THAT(test.run({"--cgroup", mode, "--no-python", "./worker"}), ExitsWith(0));
      CHECK(tree.has_ended());
    }
  }
}

TEST_CASE("what an attempt left behind is gone before the next one starts", "[orphans]") {
  RankrunCase test;
  test.write_program("worker", R"(
if [ $TORCHELASTIC_RESTART_COUNT = 1 ]; then
  kill -0 $(cat stray.pid) 2> /dev/null && grep -q '^State:.[^Z]' /proc/$(cat stray.pid)/status && exit 9
  exit 0
fi
setsid -f sh -c 'echo $$ > stray.part; mv stray.part stray.pid; exec sleep 1000'
while ! [ -e stray.pid ]; do sleep 0.01; done
exit 3
)");
  CHECK_THAT(test.run({"--cgroup=off", "--max-restarts=1", "--no-python", "./worker"}),
             ExitsWith(0));
}

TEST_CASE("a launch within a launch leaves nothing behind", "[orphans]") {
  RankrunCase test;
  const Tree tree(test);
  prepare(test, kStrays[2]);
  test.start({"--cgroup=off",
              "--no-python",
              test.launcher().program,
              "--cgroup=off",
              "--no-python",
              "./worker"});
  test.wait_for_file("stray.runs");
  test.signal(SIGKILL);
  test.wait();
  CHECK(tree.ends());
  test.empty_temp_folder();
}

TEST_CASE("what is killed stays killed when the keeper was ended before", "[orphans]") {
  RankrunCase test;
  const Tree tree(test);
  prepare(test, kStrays[2]);
  test.start({"--no-python", "./worker"});
  test.wait_for_file("stray.runs");
  const auto keeper = [&test] {
    pid_t found = 0;
    agent::for_each_process("/proc", [&](const agent::ProcessEntry& process) {
      if (process.parent == test.pid() && process.name == "keeper") found = process.pid;
    });
    return found;
  };
  ::kill(keeper(), SIGKILL);
  test.wait_for_error_text("started another one");
  test.signal(SIGKILL);
  test.wait();
  CHECK(tree.ends());
  test.empty_temp_folder();
}

TEST_CASE("no cgroup is an error only where one is required", "[orphans]") {
  RankrunCase test;
  test.start_through(
      {"unshare", "--mount", "sh", "-c", "umount -a -t cgroup2 && exec \"$@\"", "sh"});
  if (::getuid() != 0) {
    std::puts("SKIPPED: only root can hide the cgroups");
    return;
  }
  const RunResult refused = test.run({"--cgroup=required", "--no-python", "true"});
  CHECK_THAT(refused, ExitsWith(1));
  CHECK_THAT(
      refused.err,
      Catch::Contains("cannot have a cgroup") && Catch::Contains("leave --cgroup=required out"));
  test.set("LOGLEVEL", "INFO");
  const RunResult told = test.run({"--no-python", "true"});
  CHECK_THAT(told, ExitsWith(0));
  CHECK_THAT(told.err, Catch::Contains("found by their session and environment mark"));
}

}  // namespace
}  // namespace rankrun::tests
