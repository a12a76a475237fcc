// SPDX-License-Identifier: Apache-2.0
// Pure: what stands before a worker's line on the console.
#pragma once

#include "store/base/clock.h"

#include <string>
#include <string_view>

namespace rankrun::agent {

using base::WallTime;

/// What the macros of a prefix stand for.
struct PrefixValues {
  std::string role_name;
  int local_rank = 0;
  int rank = 0;
  std::string host;  ///< short
};

/// A template with the macros role_name, local_rank, rank, hostname, host (the same) and time;
/// others stay as typed.
class LinePrefix {
 public:
  /// None.
  LinePrefix() = default;
  LinePrefix(std::string text, PrefixValues values);

  /// The prefix of lines that came `now`; valid until the next call.
  std::string_view at(WallTime now);

 private:
  std::string expand(WallTime now);

  std::string template_;
  PrefixValues values_;
  bool has_time_ = false;
  std::string text_;
};

}  // namespace rankrun::agent
