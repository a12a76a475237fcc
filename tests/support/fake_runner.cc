// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_runner.h"

#include "store/base/async.h"

#include <csignal>
#include <utility>

namespace rankrun::tests {

namespace asio = boost::asio;

namespace {

class FakeProcess final : public agent::Process {
 public:
  // `runner` is the test's and outlives its processes.
  FakeProcess(FakeRunner& runner, std::shared_ptr<FakeRecord> record, pid_t pid)
      : runner_(runner), record_(std::move(record)), pid_(pid) {}

  pid_t pid() const override { return pid_; }

  asio::awaitable<agent::ExitStatus> wait_exit() override {
    while (!record_->status) {
      co_await record_->exited->async_wait(base::kUseTuple);
    }
    co_return *record_->status;
  }

  void signal_group(int signal) override {
    record_->signals.push_back(signal);
    if (record_->status) return;
    const auto reaction = runner_.reactions.find(signal);
    if (reaction != runner_.reactions.end()) {
      record_->exit(reaction->second);
    } else if (signal == SIGKILL && !runner_.stuck) {
      record_->exit(agent::ExitStatus::signaled(SIGKILL, false));
    }
  }

  std::optional<agent::OutOfMemory> memory_kill() const override { return record_->memory_kill; }

 private:
  FakeRunner& runner_;
  std::shared_ptr<FakeRecord> record_;
  pid_t pid_;
};

}  // namespace

void FakeRecord::exit(agent::ExitStatus how) {
  status = how;
  exited->cancel();
}

asio::awaitable<base::Result<void>> FakeRunner::end_all(base::TimePoint) {
  if (stuck) co_return base::failure(*stuck);
  for (const auto& record : records) {
    if (!record->status) record->exit(agent::ExitStatus::signaled(SIGKILL, false));
    record->group_ended = true;
  }
  co_return base::Result<void>();
}

base::Result<std::unique_ptr<agent::Process>> FakeRunner::start(const agent::ProcessSpec& spec) {
  if (failing_start == records.size()) return base::failure(start_error);
  auto record = std::make_shared<FakeRecord>();
  record->spec = spec;
  record->exited = std::make_unique<asio::steady_timer>(executor_, base::TimePoint::max());
  records.push_back(record);
  constexpr pid_t kFirstPid = 1000;
  const auto pid = kFirstPid + static_cast<pid_t>(records.size()) - 1;
  return std::make_unique<FakeProcess>(*this, std::move(record), pid);
}

}  // namespace rankrun::tests
