// SPDX-License-Identifier: Apache-2.0
// Pure: what has become of the workers' lines at the console end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::bench {

/// Lines at the console, each counted once, except `lost`.
struct LineFaults {
  long lost = 0;            ///< written, but never seen whole
  long torn = 0;            ///< no prefix, or the rest does not match its checksum
  long mixed = 0;           ///< holds text of two workers
  long prefixed_twice = 0;  ///< with the same prefix
  long repeated = 0;        ///< seen before
  long out_of_order = 0;    ///< comes after a later line of its worker

  long sum() const { return lost + torn + mixed + prefixed_twice + repeated + out_of_order; }
  bool operator==(const LineFaults&) const = default;
};

/// "2 lost, 1 torn"; empty without faults.
std::string to_text(const LineFaults& faults);

/// Takes what a console shows, in pieces of any size.
class LineCheck {
 public:
  /// `workers` write `lines` each; the launcher adds the prefix "[default<local rank>]:".
  LineCheck(int workers, int lines);

  void add(std::string_view bytes);

  /// After the last byte.
  LineFaults finish();

 private:
  struct Worker {
    std::vector<bool> seen;  // by number
    int next = 0;            // one more than the highest number seen
  };

  void add_line(std::string_view line);
  void add_text(int prefix_rank, std::string_view text);

  std::vector<Worker> workers_;
  std::string rest_;  // of a line not complete yet
  LineFaults faults_;
};

}  // namespace rankrun::bench
