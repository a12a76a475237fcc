// SPDX-License-Identifier: Apache-2.0
#include "agent/route.h"

namespace rankrun::agent {

namespace {

using Into = Route::Into;
using Show = Route::Show;

Route untouched(Stream stream, bool folds, const Surroundings& surroundings) {
  if (folds) return {.into = Into::pipe, .show = Show::prefixed};
  if (stream == Stream::out && !surroundings.is_watched) return {.into = Into::ours};
  // A worker that asks whether its stderr is a terminal gets the answer that it had without us.
  const bool in_terminal = stream == Stream::err && surroundings.is_terminal;
  return {.into = in_terminal ? Into::terminal : Into::pipe, .show = Show::plain};
}

Route hidden(Stream stream, const Surroundings& surroundings) {
  const bool is_read = stream == Stream::err || surroundings.is_watched;
  return {.into = is_read ? Into::pipe : Into::null_device};
}

}  // namespace

Route choose_route(const OutputConfig& config,
                   int local_rank,
                   Stream stream,
                   const Surroundings& surroundings) {
  const bool on_console = !config.console_ranks || config.console_ranks->contains(local_rank);
  const auto& filters = stream == Stream::out ? config.stdout_filters : config.stderr_filters;
  if (config.tee.has(local_rank, stream)) {
    return {.into = Into::pipe,
            .show = on_console ? Show::prefixed : Show::nothing,
            .has_file = surroundings.has_log_dir,
            .is_filtered = surroundings.has_log_dir && on_console && !filters.empty()};
  }
  if (config.redirects.has(local_rank, stream) && surroundings.has_log_dir) {
    return {.into = Into::pipe, .has_file = true};
  }
  return on_console ? untouched(stream, config.fold, surroundings) : hidden(stream, surroundings);
}

}  // namespace rankrun::agent
