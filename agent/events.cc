// SPDX-License-Identifier: Apache-2.0
#include "agent/events.h"

#include "agent/hang_report.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace rankrun::agent {

using Json = nlohmann::ordered_json;

namespace {

std::string to_line(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

double seconds(base::Duration duration) {
  constexpr double kMicro = 1e6;
  return std::round(std::chrono::duration<double>(duration).count() * kMicro) / kMicro;
}

// Our own form: adds what a change has to say to the line that has been begun for all of them.
struct OwnFields {
  const EventContext& context;
  Json& line;

  void begin(const char* event) const {
    line["event"] = event;
    line["time"] = seconds(context.now.time_since_epoch());
    if (context.view != nullptr) line["attempt"] = context.view->restart_count;
  }

  void worker(int local_rank, pid_t pid) const {
    line["rank"] = context.view->ranks.first_rank + local_rank;
    line["local_rank"] = local_rank;
    line["pid"] = pid;
  }

  void operator()(const change::JobStarted&) const {
    begin("job_start");
    const JobFacts& job = context.job;
    line["unix_time"] = seconds(job.started_at.time_since_epoch());
    line["run_id"] = job.run_id;
    line["host"] = job.host;
    line["pid"] = job.pid;
    line["program"] = job.program;
    line["local_world_size"] = job.local_world_size;
    line["max_restarts"] = job.max_restarts;
  }

  void operator()(const change::AttemptStarted& attempt) const {
    begin("attempt_start");
    line["joining_seconds"] = seconds(attempt.joining);
    line["group_rank"] = context.view->ranks.group_rank;
    line["world_size"] = context.view->ranks.world_size;
    line["master_addr"] = context.view->master_addr;
    line["master_port"] = context.view->master_port;
  }

  void operator()(const change::WorkerStarted& started) const {
    begin("worker_start");
    worker(started.local_rank, started.pid);
  }

  void operator()(const change::WorkerEnded& ended) const {
    begin("worker_exit");
    worker(ended.worker.local_rank, ended.worker.pid);
    const ExitStatus& status = ended.worker.end->status;
    const bool by_signal = status.was_signaled();
    line["outcome"] = name(ended.worker.outcome());
    line["exit_code"] = by_signal ? Json() : Json(status.code());
    line["signal"] = by_signal ? Json(signal_name(status.signal())) : Json();
    line["core_dumped"] = status.core_dumped();
  }

  void operator()(const change::StopRequested& stop) const {
    begin("stop_request");
    line["signal"] = signal_name(stop.signal);
  }

  void operator()(const change::WorkersStopped& stop) const {
    begin("stop");
    line["signal"] = signal_name(stop.signal);
  }

  void operator()(const change::HangFound& found) const {
    begin("hang");
    line["ranks"] = ranks_of(found.hang, context.view->ranks.first_rank);
    line["seconds"] = seconds(found.hang.silence);
  }

  void operator()(const change::RestartDecided& restart) const {
    begin("restart");
    line["delay_seconds"] = seconds(restart.delay);
  }

  void operator()(const change::JobEnded& ended) const {
    begin("result");
    line["result"] = name(ended.result);
    line["exit_code"] = ended.exit_code;
    line["reason"] = ended.reason;
    line["seconds"] = seconds(context.now - context.job.started);
  }
};

// torchrun's form. It has no lines for a stop or a restart as such.
struct TorchrunLines {
  const EventContext& context;
  std::string& lines;

  std::int64_t unix_milliseconds() const {
    const auto wall = context.job.started_at + (context.now - context.job.started);
    return std::chrono::floor<std::chrono::milliseconds>(wall).time_since_epoch().count();
  }

  // Fields about one worker are lists of one, as torchrun has them.
  Json entry() const {
    const bool in_view = context.view != nullptr;
    return {{"group_world_size", in_view ? Json(context.view->ranks.group_world_size) : Json()},
            {"entry_point", context.job.program}};
  }

  Json metadata(const char* state, const Json& extra) const {
    const bool in_view = context.view != nullptr;
    const auto run_time =
        std::chrono::floor<std::chrono::seconds>(context.now - context.job.started);
    return {{"run_id", context.job.run_id},
            {"global_rank", nullptr},
            {"group_rank", in_view ? Json(context.view->ranks.group_rank) : Json()},
            {"worker_id", nullptr},
            {"role", context.job.role},
            {"hostname", context.job.host},
            {"state", state},
            {"total_run_time", run_time.count()},
            {"rdzv_backend", "local"},
            {"raw_error", nullptr},
            {"metadata", extra.dump(-1, ' ', true, Json::error_handler_t::replace)},
            {"agent_restarts", in_view ? context.view->restart_count : 0},
            {"duration_ms", nullptr}};
  }

  void write(const char* source, const char* state, Json metadata) const {
    lines += to_line({{"name", std::string("torchelastic.worker.status.") + state},
                      {"source", source},
                      {"timestamp", unix_milliseconds()},
                      {"metadata", std::move(metadata)}});
  }

  Json about_worker(const char* state, int local_rank, pid_t pid, Json extra) const {
    const rendezvous::RankAssignment& ranks = context.view->ranks;
    extra["local_rank"] = Json::array({local_rank});
    extra["role_rank"] = Json::array({ranks.first_role_rank + local_rank});
    extra["role_world_size"] = Json::array({ranks.role_world_size});
    Json about = metadata(state, extra);
    about["global_rank"] = ranks.first_rank + local_rank;
    about["worker_id"] = std::to_string(pid);
    return about;
  }

  void operator()(const change::AttemptStarted& attempt) const {
    Json joined = metadata("RENDEZVOUS", entry());
    joined["duration_ms"] = seconds(attempt.joining) * 1e3;
    write("AGENT", "RENDEZVOUS", std::move(joined));
    Json assigned = metadata("ASSIGN_WORKER_RANKS", entry());
    assigned["duration_ms"] = 0;  // ranks come with the view
    write("AGENT", "ASSIGN_WORKER_RANKS", std::move(assigned));
  }

  void operator()(const change::WorkerStarted& started) const {
    write("WORKER", "START", about_worker("START", started.local_rank, started.pid, entry()));
  }

  void operator()(const change::WorkerEnded& ended) const {
    const WorkerReport& worker = ended.worker;
    const bool failed = worker.outcome() == WorkerOutcome::failed;
    const char* state = failed                                       ? "FAILED"
                        : worker.outcome() == WorkerOutcome::stopped ? "TERMINATED"
                                                                     : "SUCCEEDED";
    Json extra = entry();
    extra["exit_code"] = Json::array({torchrun_code(worker.end->status)});
    extra["worker_pid"] = Json::array({worker.pid});
    Json about = about_worker(state, worker.local_rank, worker.pid, std::move(extra));
    const std::string words = worker.own_words();
    const Json error{{"message", words.empty() ? "<NONE>" : words}};
    if (failed) about["raw_error"] = error.dump(-1, ' ', true, Json::error_handler_t::replace);
    write("WORKER", state, std::move(about));
  }

  // Says only that the agent's own part went well: a worker's failure is its result, not trouble.
  void operator()(const change::JobEnded& ended) const {
    const bool in_order = ended.result == JobResult::succeeded || ended.result == JobResult::failed;
    const char* state = in_order ? "SUCCEEDED" : "FAILED";
    Json about = metadata(state, entry());
    if (!in_order) about["raw_error"] = ended.reason;
    write("AGENT", state, std::move(about));
  }

  void operator()(const change::JobStarted&) const {}
  void operator()(const change::StopRequested&) const {}
  void operator()(const change::WorkersStopped&) const {}
  void operator()(const change::HangFound&) const {}
  void operator()(const change::RestartDecided&) const {}
};

}  // namespace

std::string event_line(const EventContext& context, const StateChange& change) {
  Json line;
  std::visit(OwnFields{context, line}, change);
  return to_line(line);
}

std::string torchrun_event_lines(const EventContext& context, const StateChange& change) {
  std::string lines;
  std::visit(TorchrunLines{context, lines}, change);
  return lines;
}

}  // namespace rankrun::agent
