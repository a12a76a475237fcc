// SPDX-License-Identifier: Apache-2.0
// Pure: where each output stream of a worker goes.
#pragma once

#include "agent/config.h"

namespace rankrun::agent {

/// The way of one stream.
struct Route {
  /// What the worker writes to.
  enum class Into {
    ours,         ///< our own stream, untouched
    null_device,  ///< nowhere
    pipe,         ///< read by us
    terminal,     ///< a pseudo terminal, read by us
  };
  /// What the console shows of it.
  enum class Show { nothing, plain, prefixed };

  Into into = Into::ours;
  Show show = Show::nothing;
  bool has_file = false;     ///< all of it goes to a log file
  bool is_filtered = false;  ///< lines with certain texts go to the attempt's filtered file

  bool operator==(const Route&) const = default;
};

/// What a route depends on beside the configuration.
struct Surroundings {
  bool has_log_dir = false;
  bool is_terminal = false;  ///< our own stream of that kind
  bool is_watched = false;   ///< output is a sign of life
};

/// Tee wins over redirect. Without a log directory a redirected stream counts as untouched, as with
/// torchrun, since it has nowhere else to go. stderr is always read, for the failure report;
/// stdout, too, where it is a sign of life.
Route choose_route(const OutputConfig& config,
                   int local_rank,
                   Stream stream,
                   const Surroundings& surroundings);

}  // namespace rankrun::agent
