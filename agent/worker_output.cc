// SPDX-License-Identifier: Apache-2.0
#include "agent/worker_output.h"

#include "agent/pseudo_terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rankrun::agent {

using base::failure;
using base::Result;
namespace asio = boost::asio;

void WorkerOutput::start(base::TaskGroup& tasks) {
  for (LogCapture* capture : {out_.get(), err_.get()}) {
    if (capture == nullptr) continue;
    capture->close_worker_end();
    tasks.spawn(capture->pump());
  }
}

void WorkerOutput::drain() {
  if (out_) out_->drain();
  err_->drain();
}

void WorkerOutput::finish() {
  if (out_) out_->finish();
  err_->finish();
}

base::TimePoint WorkerOutput::written_at(base::TimePoint now) const {
  if (err_->is_held_up() || (out_ && out_->is_held_up())) return now;
  return out_ ? std::max(out_->read_at(), err_->read_at()) : err_->read_at();
}

std::string WorkerOutput::last_line() const {
  const bool out_is_last = out_ && out_->read_at() > err_->read_at();
  const std::vector<std::string> lines = (out_is_last ? out_ : err_)->last_lines();
  return lines.empty() ? std::string() : lines.back();
}

void WorkerOutput::resize(int like) {
  copy_terminal_size(like, err_->read_end());
}

AttemptOutput::AttemptOutput(asio::any_io_executor executor, OutputContext context)
    : executor_(std::move(executor)),
      context_(std::move(context)),
      is_terminal_(::isatty(terminal()) == 1) {
  // There even when no line passes, so that they can be followed.
  if (!context_.log_dir.is_open()) return;
  if (!context_.config.output.stdout_filters.empty()) filtered_file(Stream::out);
  if (!context_.config.output.stderr_filters.empty()) filtered_file(Stream::err);
}

Result<WorkerOutput> AttemptOutput::open(int local_rank, ProcessSpec& spec) {
  WorkerOutput output;
  auto out = open_stream(local_rank, Stream::out, output.out_);
  if (!out) return failure(std::move(out.error()));
  auto err = open_stream(local_rank, Stream::err, output.err_);
  if (!err) return failure(std::move(err.error()));
  spec.stdout_fd = *out;
  spec.stderr_fd = *err;
  return output;
}

// Returns the descriptor for the worker; -1: ours.
Result<int> AttemptOutput::open_stream(int local_rank,
                                       Stream stream,
                                       std::unique_ptr<LogCapture>& capture) {
  const Surroundings surroundings{.has_log_dir = context_.log_dir.is_open(),
                                  .is_terminal = is_terminal_,
                                  .is_watched = is_watched()};
  const Route route = choose_route(context_.config.output, local_rank, stream, surroundings);
  if (route.into == Route::Into::ours) return -1;
  if (route.into == Route::Into::null_device) return null_device();
  auto pipe = open_pipe(route.into);
  if (!pipe) return failure(std::move(pipe.error()));
  capture =
      std::make_unique<LogCapture>(executor_, std::move(*pipe), targets(local_rank, stream, route));
  return capture->worker_end();
}

Result<CapturePipe> AttemptOutput::open_pipe(Route::Into into) const {
  if (into == Route::Into::terminal) {
    if (auto pair = PseudoTerminal::open(terminal())) {
      return CapturePipe{std::move(pair->read_end), std::move(pair->worker_end)};
    }
  }
  return CapturePipe::open();
}

CaptureTargets AttemptOutput::targets(int local_rank, Stream stream, const Route& route) {
  CaptureTargets targets;
  targets.has_memory = stream == Stream::err || is_watched();
  if (route.has_file) {
    targets.file = LogFile::create(context_.log_dir.log_file(local_rank, stream), context_.log);
  }
  if (route.show != Route::Show::nothing) {
    StreamOrigin origin{
        .rank = context_.first_rank + local_rank, .prefix = {}, .file = targets.file};
    if (route.show == Route::Show::prefixed) origin.prefix = prefix(local_rank);
    targets.console = &context_.consoles.of(stream).open(std::move(origin));
  }
  if (route.is_filtered) {
    const OutputConfig& config = context_.config.output;
    targets.filtered.emplace(stream == Stream::out ? config.stdout_filters : config.stderr_filters,
                             prefix(local_rank),
                             filtered_file(stream));
  }
  return targets;
}

LinePrefix AttemptOutput::prefix(int local_rank) const {
  return LinePrefix(context_.config.output.line_prefix,
                    {.role_name = context_.config.role,
                     .local_rank = local_rank,
                     .rank = context_.first_rank + local_rank,
                     .host = context_.host});
}

std::shared_ptr<LogFile> AttemptOutput::filtered_file(Stream stream) {
  auto& file = stream == Stream::out ? filtered_out_ : filtered_err_;
  if (!file) file = LogFile::create(context_.log_dir.filtered_file(stream), context_.log);
  return file;
}

Result<int> AttemptOutput::null_device() {
  if (!null_device_) null_device_ = base::UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!null_device_) return base::errno_failure(errno, "cannot open /dev/null");
  return null_device_.get();
}

}  // namespace rankrun::agent
