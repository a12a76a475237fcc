// SPDX-License-Identifier: Apache-2.0
// A server for one test and its log.
#pragma once

#include "store/server.h"
#include "tests/store/client.h"
#include "tests/store/requests.h"

#include <spdlog/sinks/base_sink.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace rankrun::store::test {

/// Keeps what was logged; may be used from any thread.
class LogCapture final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  /// How many messages contain `text`.
  std::size_t count(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return count_locked(text);
  }

  /// Waits until a message contains `text`; throws after 20 s.
  void await(const std::string& text) {
    std::unique_lock lock(mutex_);
    if (!added_.wait_for(lock, std::chrono::seconds(20), [&] { return count_locked(text) > 0; })) {
      throw std::runtime_error("never logged: " + text);
    }
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    messages_.emplace_back(message.payload.data(), message.payload.size());
    added_.notify_all();
  }
  void flush_() override {}

  std::size_t count_locked(const std::string& text) const {
    const auto has_text = [&text](const std::string& m) {
      return m.find(text) != std::string::npos;
    };
    return static_cast<std::size_t>(std::count_if(messages_.begin(), messages_.end(), has_text));
  }

  std::vector<std::string> messages_;
  std::condition_variable_any added_;
};

/// A server on a free loopback port that logs at debug level.
struct RunningServer {
  explicit RunningServer(ServerOptions options = {}) {
    auto logger = std::make_shared<spdlog::logger>("test", log);
    logger->set_level(spdlog::level::debug);
    server = std::move(Server::start(std::move(options), logger).value());
  }

  /// A modern client that the server has answered.
  Client greeted() const {
    Client client(server->port());
    client.greet();
    return client;
  }

  std::shared_ptr<LogCapture> log = std::make_shared<LogCapture>();
  std::unique_ptr<Server> server;
};

}  // namespace rankrun::store::test
