// SPDX-License-Identifier: Apache-2.0
#include "agent/event_log.h"

#include "store/base/text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <variant>

namespace rankrun::agent {

EventLog::EventLog(const JobFacts& job, EventTargets targets, base::Logger log)
    : job_(job), targets_(std::move(targets)), log_(std::move(log)) {
  if (!targets_.path.empty()) open_file();
  write(change::JobStarted{});
}

void EventLog::open_file() {
  // Non-blocking for the sake of pipes: one without a reader, or with a slow one.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  constexpr mode_t kMode = 0666;  // less the umask
  file_ = base::UniqueFd(::open(targets_.path.c_str(), kFlags, kMode));
  if (!file_) {
    const std::error_code error(errno, std::generic_category());
    log_->warn(
        "no events: cannot open '{}': {}", base::escape_control(targets_.path), error.message());
  }
}

void EventLog::write(const StateChange& change) {
  const bool wants_own_form = targets_.own_form != nullptr || file_;
  if (!wants_own_form && targets_.torchrun_form == nullptr) return;
  if (const auto* attempt = std::get_if<change::AttemptStarted>(&change)) view_ = attempt->view;
  const EventContext context{job_, view_ ? &*view_ : nullptr, base::Clock::now()};
  if (targets_.torchrun_form != nullptr) {
    write_to(targets_.torchrun_form, torchrun_event_lines(context, change));
  }
  if (!wants_own_form) return;
  const std::string line = event_line(context, change);
  if (targets_.own_form != nullptr) write_to(targets_.own_form, line);
  if (file_) write_to_file(line);
}

void EventLog::write_to(Console*& console, const std::string& lines) {
  if (lines.empty()) return;
  if (!console->full()) return console->write_line(lines);
  console = nullptr;
  log_->warn("no more events: nobody reads them");
}

void EventLog::write_to_file(std::string_view line) {
  ssize_t written = 0;
  do {
    written = ::write(file_.get(), line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(line.size())) return;
  // A part of a line tells of a disk or pipe that is full now.
  const std::error_code error(written < 0 ? errno : ENOSPC, std::generic_category());
  file_.reset();
  log_->warn("no more events: cannot write '{}': {}",
             base::escape_control(targets_.path),
             error.message());
}

}  // namespace rankrun::agent
