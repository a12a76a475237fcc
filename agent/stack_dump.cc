// SPDX-License-Identifier: Apache-2.0
#include "agent/stack_dump.h"

#include "agent/log_capture.h"
#include "agent/worker_command.h"
#include "agent/worker_env.h"
#include "store/base/async.h"

#include <boost/asio/buffer.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <utility>

namespace rankrun::agent {

using base::failure;
using base::Result;
namespace asio = boost::asio;

namespace {

constexpr base::Duration kKillLimit = std::chrono::seconds(1);

}  // namespace

std::vector<std::string> stack_command(pid_t pid,
                                       std::string_view executable,
                                       const Environment& environment) {
  const std::string number = std::to_string(pid);
  const std::string_view name = executable.substr(executable.rfind('/') + 1);
  if (name.starts_with("python")) {
    if (const auto tool = find_in_path("py-spy", environment)) {
      return {*tool, "dump", "--pid", number};
    }
  }
  if (const auto tool = find_in_path("gdb", environment)) {
    return {*tool,
            "-batch",
            "-nx",
            "-iex",
            "set auto-load python-scripts off",  // else it explains at length why it loads none
            "-p",
            number,
            "-ex",
            "thread apply all bt"};
  }
  return {};
}

Result<StackDump> StackDump::start(const asio::any_io_executor& executor,
                                   ProcessRunner& runner,
                                   const std::vector<std::string>& command,
                                   const Environment& environment) {
  auto pipe = CapturePipe::open();
  if (!pipe) return failure(std::move(pipe.error()));
  ProcessSpec spec;
  spec.executable = command.front();
  spec.arguments = command;
  spec.environment = environment_lines(environment);
  spec.input = Input::nothing;
  spec.stdout_fd = pipe->worker_end.get();
  spec.stderr_fd = pipe->worker_end.get();
  auto process = runner.start(spec);
  if (!process) return failure(std::move(process.error()));
  asio::posix::stream_descriptor output(executor, pipe->read_end.release());
  output.non_blocking(true);
  return StackDump(std::move(*process), std::move(output));
}

asio::awaitable<std::string> StackDump::text(base::TimePoint deadline) {
  for (;;) {
    const Read read = read_some();
    if (read == Read::end) break;
    if (text_.size() >= kMostBytes) {
      text_ += "\n... (cut here)\n";
      break;
    }
    if (read == Read::some) continue;
    const base::Duration left = deadline - base::Clock::now();
    if (left <= base::Duration::zero()) {
      text_ += "\n... (killed here: it took too long)\n";
      break;
    }
    co_await base::with_timeout(
        output_.async_wait(asio::posix::stream_descriptor::wait_read, base::kUseTuple), left);
  }
  process_->signal_group(SIGKILL);
  co_await base::with_timeout(process_->wait_exit(), kKillLimit);
  co_return std::move(text_);
}

StackDump::Read StackDump::read_some() {
  std::array<char, 4096> buffer{};
  boost::system::error_code error;
  const std::size_t room = std::min(buffer.size(), kMostBytes - text_.size());
  const std::size_t size = output_.read_some(asio::buffer(buffer.data(), room), error);
  if (error == asio::error::would_block || error == asio::error::try_again) {
    return Read::nothing_yet;
  }
  if (error) return Read::end;
  text_.append(buffer.data(), size);
  return Read::some;
}

}  // namespace rankrun::agent
