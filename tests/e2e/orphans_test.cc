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
#include <functional>
#include <string>

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

// Else says that the test is skipped.
bool may_make_cgroups() {
  auto containment =
      agent::Containment::create(agent::CgroupUse::required, false, tests::silent_log());
  const bool may = containment && containment->open_attempt();
  if (!may) std::puts("SKIPPED: we may not make cgroups that can kill here");
  return may;
}

void prepare(const RankrunCase& test, const Stray& stray) {
  test.write("stray", ": > stray.runs; exec /bin/sleep 1000");
  test.write_program("worker",
                     std::string("exec 9> tree\n") + stray.script + "\n" +
                         "while ! [ -e stray.runs ]; do /bin/sleep 0.01; done\n" +
                         "${END:-exec /bin/sleep 1000}\n");
}

// `kill` ends rankrun once the stray runs; then all must go.
void kill_and_check(RankrunCase& test, const Tree& tree, const std::function<void()>& kill) {
  test.wait_for_file("stray.runs");
  kill();
  test.wait();
  CHECK(tree.ends());
  test.empty_temp_folder();
}

void check_killed_launcher(const Stray& stray, const std::string& mode) {
  INFO(stray.what);
  RankrunCase test;
  const Tree tree(test);
  prepare(test, stray);
  test.start({"--cgroup", mode, "--no-python", "./worker"});
  kill_and_check(test, tree, [&test] { test.signal(SIGKILL); });
}

void check_end(const Stray& stray, const std::string& mode) {
  INFO(stray.what);
  RankrunCase test;
  const Tree tree(test);
  prepare(test, stray);
  test.set("END", "exit 0");
  CHECK_THAT(test.run({"--cgroup", mode, "--no-python", "./worker"}), ExitsWith(0));
  CHECK(tree.has_ended());
}

TEST_CASE("without a cgroup SIGKILL to rankrun leaves nothing behind", "[orphans]") {
  for (const Stray& stray : kStrays) {
    if (!stray.needs_cgroup) check_killed_launcher(stray, "off");
  }
}

TEST_CASE("with a cgroup SIGKILL to rankrun leaves nothing behind", "[orphans]") {
  if (!may_make_cgroups()) return;
  for (const Stray& stray : kStrays) {
    check_killed_launcher(stray, "required");
  }
}

TEST_CASE("SIGKILL to rankrun's whole process group leaves nothing behind", "[orphans]") {
  RankrunCase test;
  const Tree tree(test);
  prepare(test, kStrays[2]);
  test.before_exec([] { ::setpgid(0, 0); });
  test.start({"--no-python", "./worker"});
  kill_and_check(test, tree, [&test] { ::kill(-test.pid(), SIGKILL); });
}

TEST_CASE("without a cgroup what workers leave behind is gone when rankrun ends", "[orphans]") {
  for (const Stray& stray : kStrays) {
    if (!stray.needs_cgroup) check_end(stray, "off");
  }
}

TEST_CASE("with a cgroup what workers leave behind is gone when rankrun ends", "[orphans]") {
  if (!may_make_cgroups()) return;
  for (const Stray& stray : kStrays) {
    check_end(stray, "required");
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
  kill_and_check(test, tree, [&test] { test.signal(SIGKILL); });
}

TEST_CASE("what is killed stays killed when the keeper was ended before", "[orphans]") {
  RankrunCase test;
  const Tree tree(test);
  prepare(test, kStrays[2]);
  test.start({"--no-python", "./worker"});
  kill_and_check(test, tree, [&test] {
    pid_t keeper = 0;
    agent::for_each_process("/proc", [&](const agent::ProcessEntry& process) {
      if (process.parent == test.pid() && process.name == "keeper") keeper = process.pid;
    });
    REQUIRE(keeper > 0);
    ::kill(keeper, SIGKILL);
    test.wait_for_error_text("started another one");
    test.signal(SIGKILL);
  });
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
