// SPDX-License-Identifier: Apache-2.0
// What a benchmark has found, as values; a table for people and JSON for programs from the same.
#pragma once

#include "apps/bench/machine.h"
#include "store/base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace rankrun::bench {

enum class Unit { microseconds, milliseconds, kibibytes, mebibytes, count };

/// What the figure is compared with, in the same unit.
struct Peer {
  std::string name;
  double figure = 0;
};

/// What is asked of a row. Less is better in every row.
struct Bar {
  enum class Kind {
    at_most,             ///< figure <= limit
    times_below_peer,    ///< peer / figure >= limit
    at_most_times_peer,  ///< figure / peer <= limit
  };
  Kind kind = Kind::at_most;
  double limit = 0;
};

struct Row {
  std::string what;
  Unit unit = Unit::milliseconds;
  double figure = 0;
  std::optional<Peer> peer;
  std::optional<Bar> bar;
  double load = 0;   ///< of the machine, when the figure was taken
  std::string note;  ///< why a peer is missing, or more about the figures
};

enum class Verdict {
  no_bar,
  met,
  missed,
  unknown,  ///< the peer that the bar speaks of is missing
};

Verdict verdict(const Row& row);

/// What was measured.
struct MeasuredProgram {
  std::string name;
  std::string version;  ///< as it names itself
  std::string path;
};

struct Report {
  std::string benchmark;  ///< the sub-command
  Machine machine;
  std::vector<MeasuredProgram> programs;
  std::vector<Row> rows;
  std::vector<std::string> failures;  ///< what could not be measured, and why
};

std::string to_table(const Report& report);
std::string to_json(const Report& report);

/// Prints the table to stdout and writes JSON to the file `json` (empty: none; "-": stdout, the
/// table then goes to stderr). Fails when something could not be written.
base::Result<void> publish(const Report& report, const std::string& json);

}  // namespace rankrun::bench
