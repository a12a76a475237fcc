// SPDX-License-Identifier: Apache-2.0
#include "agent/report_json.h"

#include "agent/hang_report.h"
#include "agent/hints.h"

#include <nlohmann/json.hpp>

namespace rankrun::agent {

using Json = nlohmann::ordered_json;

namespace {

double unix_seconds(WallTime time) {
  return std::chrono::duration<double>(
             std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch())
      .count();
}

Json error_file(const WorkerReport& worker) {
  if (!worker.error_file) return nullptr;
  Json file{{"path", worker.error_file->path}};
  if (const auto& error = worker.error_file->error) {
    file["message"] = error->message;
    file["call_stack"] = error->call_stack;
  } else {
    file["invalid"] = worker.error_file->invalid;
  }
  return file;
}

Json end_of(const WorkerEnd& end) {
  Json json{{"time", unix_seconds(end.time)},
            {"exit_code", nullptr},
            {"signal", nullptr},
            {"core_dumped", end.status.core_dumped()},
            {"stop_signal", nullptr}};
  if (end.status.was_signaled()) {
    json["signal"] = signal_name(end.status.signal());
  } else {
    json["exit_code"] = end.status.code();
  }
  if (end.stop_signal) json["stop_signal"] = signal_name(*end.stop_signal);
  return json;
}

Json memory_kill(const WorkerReport& worker) {
  if (!worker.memory_kill) return nullptr;
  const auto bytes = [](const std::optional<std::uint64_t>& count) {
    return count ? Json(*count) : Json();
  };
  return Json{{"ended_worker", worker.ran_out_of_memory()},
              {"limit", bytes(worker.memory_kill->limit)},
              {"peak", bytes(worker.memory_kill->peak)}};
}

Json worker_json(const WorkerReport& worker) {
  return Json{{"rank", worker.rank},
              {"local_rank", worker.local_rank},
              {"pid", worker.pid},
              {"outcome", name(worker.outcome())},
              {"end", worker.end ? end_of(*worker.end) : Json()},
              {"message", worker.own_words()},
              {"error_file", error_file(worker)},
              {"memory_kill", memory_kill(worker)},
              {"stderr", worker.last_lines}};
}

Json hang_json(const Hang& hang, int first_rank) {
  return Json{{"ranks", ranks_of(hang, first_rank)},
              {"seconds", std::chrono::duration<double>(hang.silence).count()}};
}

}  // namespace

std::string format_json(const JobReport& report) {
  const JobFacts& job = report.job;
  const Ending& ending = report.ending;
  const bool by_launcher = ending.stop_signal || ending.error || ending.hang;
  const WorkerReport* root = report.root_cause();
  Json json{{"version", 1},
            {"result", name(report.result())},
            {"exit_code", report.exit_code},
            {"origin", by_launcher ? "launcher" : "worker"},
            {"reason", report.reason()},
            {"root_cause", root != nullptr ? Json(root->rank) : Json()},
            {"hang", ending.hang ? hang_json(*ending.hang, report.first_rank) : Json()},
            {"hints", hints(report)},
            {"program", job.program},
            {"run_id", job.run_id},
            {"host", job.host},
            {"pid", job.pid},
            {"started", unix_seconds(job.started_at)},
            {"seconds", std::chrono::duration<double>(report.took).count()},
            {"restarts", report.restarts},
            {"max_restarts", job.max_restarts},
            {"workers", Json::array()}};
  for (const WorkerReport& worker : report.workers) {
    json["workers"].push_back(worker_json(worker));
  }
  constexpr int kIndent = 2;
  return json.dump(kIndent, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace rankrun::agent
