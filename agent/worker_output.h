// SPDX-License-Identifier: Apache-2.0
// The output of the workers of one attempt: opened by their routes, read, and ended with them.
#pragma once

#include "agent/consoles.h"
#include "agent/log_capture.h"
#include "agent/log_dir.h"
#include "agent/process.h"
#include "agent/route.h"
#include "store/base/log.h"
#include "store/base/result.h"
#include "store/base/task_group.h"
#include "store/base/unique_fd.h"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>
#include <vector>

namespace rankrun::agent {

/// Both streams of one worker. Belongs to the agent's loop.
class WorkerOutput {
 public:
  /// To be called once the worker runs: it has its ends, and `tasks` reads ours.
  void start(base::TaskGroup& tasks);

  /// Takes what is there now, for when the worker has ended.
  void drain();

  /// The same when all of its group has ended: nothing more comes.
  void finish();

  /// When something was last read of either stream; it is being so as long as we are what keeps the
  /// worker from writing more.
  base::TimePoint written_at(base::TimePoint now) const;

  /// The last line of the stream that was written to last; empty where it is not remembered.
  std::string last_line() const;

  /// The last lines of stderr.
  std::vector<std::string> last_lines() const { return err_->last_lines(); }

  /// A pseudo terminal gets the size of the terminal `like`.
  void resize(int like);

 private:
  friend class AttemptOutput;

  std::unique_ptr<LogCapture> out_;  // null: not read by us
  std::unique_ptr<LogCapture> err_;
};

/// What the routes of an attempt's workers depend on. All of it is the agent's.
struct OutputContext {
  Consoles& consoles;
  const LaunchConfig& config;
  const LogDir& log_dir;  ///< with the attempt's folders
  base::Logger log;
  std::string host;    ///< for prefixes
  int first_rank = 0;  ///< global rank of local rank 0
};

class AttemptOutput {
 public:
  AttemptOutput(boost::asio::any_io_executor executor, OutputContext context);

  /// Opens the streams of a worker, and names in `spec` the descriptors that it gets; they are
  /// valid until it is started.
  base::Result<WorkerOutput> open(int local_rank, ProcessSpec& spec);

  /// Whether workers may have a pseudo terminal, which follows the size of ours.
  bool has_terminal() const { return is_terminal_; }
  int terminal() const { return context_.consoles.err.console().fd(); }

 private:
  base::Result<int> open_stream(int local_rank,
                                Stream stream,
                                std::unique_ptr<LogCapture>& capture);
  base::Result<CapturePipe> open_pipe(Route::Into into) const;
  CaptureTargets targets(int local_rank, Stream stream, const Route& route);
  LinePrefix prefix(int local_rank) const;
  std::shared_ptr<LogFile> filtered_file(Stream stream);
  base::Result<int> null_device();
  bool is_watched() const { return context_.config.hang_timeout > base::Duration::zero(); }

  boost::asio::any_io_executor executor_;
  OutputContext context_;
  bool is_terminal_;                       // our stderr
  std::shared_ptr<LogFile> filtered_out_;  // opened by the first who needs it
  std::shared_ptr<LogFile> filtered_err_;
  base::UniqueFd null_device_;
};

}  // namespace rankrun::agent
