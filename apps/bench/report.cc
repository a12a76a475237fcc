// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::bench {
namespace {

constexpr std::size_t kColumns = 7;
using Cells = std::array<std::string, kColumns>;

// Three digits are more than such a figure is good for.
std::string number_text(double value) {
  if (value >= 100 || value == 0) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, value >= 10 ? 1 : 2);
}

std::string_view unit_text(Unit unit) {
  switch (unit) {
    case Unit::microseconds:
      return "us";
    case Unit::milliseconds:
      return "ms";
    case Unit::kibibytes:
      return "KiB";
    case Unit::mebibytes:
      return "MiB";
    case Unit::count:
      return "";
  }
  return "";
}

std::string figure_text(double value, Unit unit) {
  const std::string_view name = unit_text(unit);
  return number_text(value) + (name.empty() ? "" : " ") + std::string(name);
}

// Nothing when there is no peer, or one of the two is zero.
std::string ratio_text(const Row& row) {
  if (!row.peer || row.figure <= 0 || row.peer->figure <= 0) return "";
  const double below = row.peer->figure / row.figure;
  if (below >= 1) return number_text(below) + "x less";
  return number_text(1 / below) + "x more";
}

std::string bar_text(const Row& row) {
  if (!row.bar) return "";
  const std::string limit = fmt::format("{:g}", row.bar->limit);
  switch (row.bar->kind) {
    case Bar::Kind::at_most:
      return fmt::format("<= {} {}", limit, unit_text(row.unit));
    case Bar::Kind::times_below_peer:
      return fmt::format(">= {}x less", limit);
    case Bar::Kind::at_most_times_peer:
      return fmt::format("<= {}x more", limit);
  }
  return "";
}

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::no_bar:
      return "";
    case Verdict::met:
      return "met";
    case Verdict::missed:
      return "missed";
    case Verdict::unknown:
      return "unknown";
  }
  return "";
}

Cells cells_of(const Row& row) {
  const Verdict judged = verdict(row);
  std::string last(judged == Verdict::missed ? "MISSED" : verdict_text(judged));
  if (!row.note.empty()) last += (last.empty() ? "" : "; ") + row.note;
  return {row.what,
          figure_text(row.figure, row.unit),
          row.peer ? row.peer->name + " " + figure_text(row.peer->figure, row.unit) : "",
          ratio_text(row),
          bar_text(row),
          fmt::format("{:.2f}", row.load),
          last};
}

std::string aligned(const std::vector<Cells>& lines) {
  std::array<std::size_t, kColumns> widths{};
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      widths[i] = std::max(widths[i], cells[i].size());
    }
  }
  std::string text;
  for (const Cells& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) {
      line += fmt::format("{:<{}}  ", cells[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

nlohmann::ordered_json bar_json(const Bar& bar) {
  switch (bar.kind) {
    case Bar::Kind::at_most:
      return {{"at_most", bar.limit}};
    case Bar::Kind::times_below_peer:
      return {{"times_below_peer", bar.limit}};
    case Bar::Kind::at_most_times_peer:
      return {{"at_most_times_peer", bar.limit}};
  }
  return nullptr;
}

nlohmann::ordered_json row_json(const Row& row) {
  nlohmann::ordered_json json = {{"what", row.what},
                                 {"unit", unit_text(row.unit)},
                                 {"figure", row.figure},
                                 {"peer", nullptr},
                                 {"peer_figure", nullptr},
                                 {"peer_by_figure", nullptr},
                                 {"bar", nullptr},
                                 {"verdict", verdict_text(verdict(row))},
                                 {"load", row.load},
                                 {"note", row.note}};
  if (row.peer) {
    json["peer"] = row.peer->name;
    json["peer_figure"] = row.peer->figure;
    if (row.figure > 0) json["peer_by_figure"] = row.peer->figure / row.figure;
  }
  if (row.bar) json["bar"] = bar_json(*row.bar);
  return json;
}

}  // namespace

Verdict verdict(const Row& row) {
  if (!row.bar) return Verdict::no_bar;
  const double limit = row.bar->limit;
  const auto met_when = [](bool met) { return met ? Verdict::met : Verdict::missed; };
  if (row.bar->kind == Bar::Kind::at_most) return met_when(row.figure <= limit);
  if (!row.peer) return Verdict::unknown;
  if (row.bar->kind == Bar::Kind::times_below_peer) {
    return met_when(row.peer->figure >= limit * row.figure);
  }
  return met_when(row.figure <= limit * row.peer->figure);
}

std::string to_table(const Report& report) {
  std::string text = fmt::format("rankbench {}: {}, {} cores, {}\n",
                                 report.benchmark,
                                 report.machine.cpu_model,
                                 report.machine.cores,
                                 report.machine.kernel);
  for (const MeasuredProgram& program : report.programs) {
    text += fmt::format("{}, {}\n", program.version, program.path);
  }
  std::vector<Cells> lines = {{"", "rankrun", "compared with", "ratio", "bar", "load", ""}};
  for (const Row& row : report.rows) {
    lines.push_back(cells_of(row));
  }
  if (!report.rows.empty()) text += '\n' + aligned(lines);
  for (const std::string& failure : report.failures) {
    text += fmt::format("not measured: {}\n", failure);
  }
  return text;
}

std::string to_json(const Report& report) {
  using Json = nlohmann::ordered_json;
  Json programs = Json::array();
  for (const auto& [name, version, path] : report.programs) {
    programs.push_back({{"name", name}, {"version", version}, {"path", path}});
  }
  Json rows = Json::array();
  for (const Row& row : report.rows) {
    rows.push_back(row_json(row));
  }
  const auto& [cpu, cores, kernel] = report.machine;
  const Json json = {{"benchmark", report.benchmark},
                     {"machine", {{"cpu", cpu}, {"cores", cores}, {"kernel", kernel}}},
                     {"programs", programs},
                     {"rows", rows},
                     {"failures", report.failures}};
  return json.dump(2) + '\n';
}

base::Result<void> publish(const Report& report, const std::string& json) {
  const bool json_on_stdout = json == "-";
  const std::string table = to_table(report);
  if (std::fputs(table.c_str(), json_on_stdout ? stderr : stdout) < 0) {
    return base::failure({}, "cannot print the table");
  }
  if (json_on_stdout && std::fputs(to_json(report).c_str(), stdout) < 0) {
    return base::failure({}, "cannot print the JSON");
  }
  if (json.empty() || json_on_stdout) return {};
  std::ofstream file(json);
  file << to_json(report) << std::flush;
  if (!file) return base::failure({}, fmt::format("cannot write '{}'", json), "check its folder");
  return {};
}

}  // namespace rankrun::bench
