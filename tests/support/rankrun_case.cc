// SPDX-License-Identifier: Apache-2.0
#include "tests/support/rankrun_case.h"

#include "agent/kernel_files.h"
#include "agent/process_table.h"
#include "agent/text_limits.h"
#include "agent/worker_env.h"
#include "store/base/c_strings.h"
#include "store/base/endpoint.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace rankrun::tests {

namespace fs = std::filesystem;

namespace {

constexpr base::Duration kPollPause = std::chrono::milliseconds(5);
// SIGKILL takes effect and sockets close a moment after the call that caused it.
constexpr base::Duration kSettleLimit = std::chrono::seconds(10);

// The files that catch rankrun's output, in the folder of the case.
constexpr auto kOut = "rankrun.out";
constexpr auto kErr = "rankrun.err";
constexpr auto kPorts = "rankrun.ports";

int milliseconds(base::Duration duration) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool poll_until(base::Duration limit, const std::function<bool()>& condition) {
  const base::TimePoint deadline = base::Clock::now() + limit;
  while (!condition()) {
    if (base::Clock::now() >= deadline) return false;
    ::poll(nullptr, 0, milliseconds(kPollPause));
  }
  return true;
}

// What rankrun gets: nothing of the caller's that could change what it does.
Environment fresh_environment(const fs::path& temp_folder) {
  Environment environment{{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"TMPDIR", temp_folder}};
  for (const char* name : {"HOME", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (auto value = callers_variable(name)) environment.emplace(name, std::move(*value));
  }
  return environment;
}

void open_as(int fd, const fs::path& path, int flags) {
  const int opened = ::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0644);
  if (opened < 0 || ::dup2(opened, fd) < 0) ::_exit(127);
}

void default_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    ::sigaction(number, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// Whether a server could take the port on every address. Connections in TIME_WAIT do not count.
bool is_bindable(std::uint16_t port) {
  const base::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const RunResult& result) {
  const bool by_signal = result.status.was_signaled();
  return out << (by_signal ? "killed by signal " : "exited with ")
             << (by_signal ? result.status.signal() : result.status.code()) << " after "
             << std::chrono::duration<double>(result.wall).count() << " s\n--- stdout\n"
             << result.out << "--- stderr\n"
             << result.err << "---";
}

bool ExitsWith::match(const RunResult& result) const {
  return result.status == agent::ExitStatus::exited(code_);
}

std::string ExitsWith::describe() const {
  return "exits with " + std::to_string(code_);
}

std::optional<std::string> callers_variable(std::string_view name) {
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(name) && text.substr(name.size()).starts_with('=')) {
      return std::string(text.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

Environment parse_environ(std::string_view bytes) {
  Environment environment;
  while (!bytes.empty()) {
    const std::string_view entry = bytes.substr(0, bytes.find('\0'));
    const std::size_t equals = std::min(entry.find('='), entry.size());
    environment.emplace(entry.substr(0, equals), entry.substr(std::min(equals + 1, entry.size())));
    bytes.remove_prefix(std::min(entry.size() + 1, bytes.size()));
  }
  return environment;
}

std::vector<std::string> lines_of(std::string_view text) {
  return agent::split_lines(text);
}

RankrunCase::RankrunCase(base::Duration limit)
    : limit_(limit),
      launcher_{RANKRUN_BINARY, {}, false},
      environment_(fresh_environment(temp_folder())),
      marker_("RANKRUN_TEST_CASE=" + folder().string()) {
  fs::create_directory(temp_folder());
  set("RANKRUN_TEST_CASE", folder());
  // Workers that outlive a killed rankrun become ours, so that they can be reaped.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

RankrunCase::~RankrunCase() {
  const bool was_abandoned = end_abandoned_run();
  if (!launcher_.may_leave_things) check_processes(was_abandoned);
  kill_marked_processes();
  if (launcher_.may_leave_things) return;
  if (!was_abandoned) check_temp_folder();
  check_ports();
}

void RankrunCase::empty_temp_folder() const {
  fs::remove_all(temp_folder());
  fs::create_directory(temp_folder());
}

std::string RankrunCase::write_program(const std::string& name, const std::string& body) const {
  return write(name, "#!/bin/sh\n" + body + "\n", fs::perms::owner_all);
}

std::string RankrunCase::write_worker(const std::string& body) const {
  return write_program("worker",
                       "echo \"$MASTER_PORT\" >>" + (folder() / kPorts).string() + "\n" + body);
}

std::string RankrunCase::read(const std::string& name) const {
  return read_file(folder() / name);
}

bool RankrunCase::exists(const std::string& name) const {
  return fs::exists(folder() / name);
}

RunResult RankrunCase::run(const std::vector<std::string>& arguments) {
  start(arguments);
  return wait();
}

void RankrunCase::start(const std::vector<std::string>& arguments) {
  REQUIRE_FALSE(pidfd_);
  started_ = base::Clock::now();
  pid_ = ::fork();
  if (pid_ == 0) run_child(arguments);
  REQUIRE(pid_ > 0);
  pidfd_ = base::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  REQUIRE(pidfd_);
}

// The test has one thread, so the child of a fork may do anything, but not return into the test.
void RankrunCase::run_child(const std::vector<std::string>& arguments) const noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ctest kills a test at its timeout
  default_signals();
  if (::chdir(folder().c_str()) != 0) ::_exit(127);
  open_as(STDIN_FILENO, "/dev/null", O_RDONLY);
  open_as(STDOUT_FILENO, folder() / kOut, O_WRONLY | O_TRUNC | O_APPEND);
  open_as(STDERR_FILENO, folder() / kErr, O_WRONLY | O_TRUNC | O_APPEND);
  std::vector<std::string> argv = wrapper_;
  argv.push_back(launcher_.program);
  argv.insert(argv.end(), launcher_.arguments.begin(), launcher_.arguments.end());
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = agent::environment_lines(environment_);
  if (before_exec_) before_exec_();
  ::execvpe(argv.front().c_str(), base::c_strings(argv).data(), base::c_strings(variables).data());
  ::_exit(127);
}

bool RankrunCase::ends_within(base::Duration limit) const {
  const base::TimePoint deadline = base::Clock::now() + limit;
  pollfd end{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  for (;;) {
    const auto left = std::max(deadline - base::Clock::now(), base::Duration::zero());
    const int ready = ::poll(&end, 1, milliseconds(left));
    if (ready >= 0) return ready > 0;
  }
}

RunResult RankrunCase::wait() {
  REQUIRE(pidfd_);
  if (!ends_within(limit_)) FAIL("rankrun does not end; its stderr:\n" << read(kErr));
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) == 0);
  pidfd_.reset();
  const auto status = info.si_code == CLD_EXITED
                          ? agent::ExitStatus::exited(info.si_status)
                          : agent::ExitStatus::signaled(info.si_status, info.si_code == CLD_DUMPED);
  return {status, read(kOut), read(kErr), base::Clock::now() - started_};
}

void RankrunCase::signal(int number) const {
  REQUIRE(pidfd_);
  REQUIRE(::kill(pid_, number) == 0);
}

std::string RankrunCase::error_text() const {
  return read(kErr);
}

bool RankrunCase::happens(const std::string& what, const std::function<bool()>& condition) {
  const base::TimePoint deadline = base::Clock::now() + limit_;
  while (!condition()) {
    if (ends_within(kPollPause)) return condition();
    if (base::Clock::now() < deadline) continue;
    FAIL("the limit came before " << what << "; rankrun's stderr:\n" << read(kErr));
  }
  return true;
}

void RankrunCase::wait_until(const std::string& what, const std::function<bool()>& condition) {
  if (!happens(what, condition)) {
    FAIL("rankrun ended without " << what << "; its stderr:\n" << read(kErr));
  }
}

void RankrunCase::wait_for_file(const std::string& name) {
  wait_until("file " + name, [&] { return exists(name); });
}

void RankrunCase::wait_for_error_text(const std::string& text) {
  wait_until("'" + text + "' on stderr",
             [&] { return error_text().find(text) != std::string::npos; });
}

std::vector<std::uint16_t> RankrunCase::worker_ports() const {
  std::vector<std::uint16_t> ports;
  for (const std::string& line : lines_of(read(kPorts))) {
    if (const auto port = base::parse_port(line)) {
      ports.push_back(*port);
    } else {
      FAIL_CHECK("a worker got MASTER_PORT=" << line);
    }
  }
  return ports;
}

// True when rankrun still ran: an assertion has failed in the middle, or the test forgot to wait.
bool RankrunCase::end_abandoned_run() {
  if (!pidfd_) return false;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pidfd_.reset();
  if (std::uncaught_exceptions() == 0) FAIL_CHECK("the test case ended before rankrun did");
  return true;
}

// Command lines by pid. Zombies do not count: they have no environment any more.
std::map<pid_t, std::string> RankrunCase::marked_processes() const {
  std::map<pid_t, std::string> found;
  agent::for_each_process("/proc", [&](const agent::ProcessEntry& process) {
    const fs::path folder = "/proc/" + std::to_string(process.pid);
    const std::string environ = '\0' + agent::read_kernel_file(folder / "environ").value_or("");
    if (environ.find('\0' + marker_ + '\0') == std::string::npos) return;
    std::string command = agent::read_kernel_file(folder / "cmdline").value_or("");
    std::replace(command.begin(), command.end(), '\0', ' ');
    found.emplace(process.pid, std::move(command));
  });
  return found;
}

void RankrunCase::check_processes(bool was_abandoned) const {
  std::map<pid_t, std::string> left = marked_processes();
  // Without their rankrun, children of workers may stay: that is our doing.
  if (!was_abandoned) {
    poll_until(kSettleLimit, [&] {
      left = marked_processes();
      return left.empty();
    });
  }
  for (const auto& [pid, command] : left) {
    FAIL_CHECK("left behind: process " << pid << ": " << command);
  }
}

void RankrunCase::kill_marked_processes() const {
  const bool killed = poll_until(kSettleLimit, [&] {
    const std::map<pid_t, std::string> left = marked_processes();
    for (const auto& [pid, command] : left) {
      ::kill(pid, SIGKILL);
    }
    return left.empty();
  });
  if (!killed) FAIL_CHECK("a process with " << marker_ << " outlives SIGKILL");
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

void RankrunCase::check_temp_folder() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(temp_folder(), error)) {
    FAIL_CHECK("left behind: " << entry.path());
  }
  if (error) FAIL_CHECK("cannot read " << temp_folder() << ": " << error.message());
}

void RankrunCase::check_ports() const {
  std::vector<std::uint16_t> ports = worker_ports();
  ports.insert(ports.end(), ports_.begin(), ports_.end());
  for (const std::uint16_t port : ports) {
    // Another test may hold the port for a moment: the kernel gives free ones to everybody.
    if (!poll_until(kSettleLimit, [port] { return is_bindable(port); })) {
      FAIL_CHECK("left behind: port " << port << " is still bound");
    }
  }
}

}  // namespace rankrun::tests
