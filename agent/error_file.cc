// SPDX-License-Identifier: Apache-2.0
#include "agent/error_file.h"

#include "agent/text_limits.h"
#include "store/base/unique_fd.h"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace rankrun::agent {

using base::failure;
using base::Result;
using Json = nlohmann::ordered_json;

namespace {

// Where files nest at all they nest 3 deep. What is deeper must not get into memory: some ways
// through a document recurse.
constexpr int kDeepest = 32;

// Regular files only, and no link: opening anything else could block, or lead elsewhere.
Result<std::string> read_text(const std::string& path) {
  const base::UniqueFd fd(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd && errno == ELOOP) return failure({}, "it is a link");
  if (!fd) return base::errno_failure(errno, "cannot open it");
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return base::errno_failure(errno, "cannot read it");
  if (!S_ISREG(status.st_mode)) return failure({}, "it is not a regular file");
  std::string text(kMostErrorFile + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::errno_failure(errno, "cannot read it");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMostErrorFile) return failure({}, "it is larger than 1 MiB");
  if (size == 0) return failure({}, "it is empty");
  text.resize(size);
  return text;
}

Result<Json> parse_json(std::string_view text) {
  bool too_deep = false;
  const auto limit_depth = [&too_deep](int depth, Json::parse_event_t, const Json&) {
    too_deep = too_deep || depth > kDeepest;
    return !too_deep;
  };
  Json document = Json::parse(text, limit_depth, false);
  if (too_deep) return failure({}, "it nests too deep");
  if (document.is_discarded()) return failure({}, "it is not JSON");
  return document;
}

// The member that is text, or null.
const std::string* text_member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

std::string to_text(const Json& document) {
  return document.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

Result<WorkerError> parse_error_file(std::string_view text) {
  const auto document = parse_json(text);
  if (!document) return failure(document.error());
  if (const std::string* plain = text_member(*document, "message")) {
    return WorkerError{start_of(*plain, kMostErrorText), ""};
  }
  if (!document->is_object() || !document->contains("message")) {
    return failure({}, "it has no \"message\"");
  }
  const Json& inner = (*document)["message"];
  const std::string* message = text_member(inner, "message");
  if (message == nullptr) return failure({}, "its \"message\" holds no text");
  WorkerError error{start_of(*message, kMostErrorText), ""};
  if (const auto extra = inner.find("extraInfo"); extra != inner.end()) {
    const std::string* stack = text_member(*extra, "py_callstack");
    if (stack != nullptr) error.call_stack = last_lines_of(*stack, kMostErrorText);
  }
  return error;
}

std::optional<ErrorFile> read_error_file(const std::string& path) {
  struct stat status {};
  if (path.empty() || ::lstat(path.c_str(), &status) != 0) return std::nullopt;
  const auto text = read_text(path);
  if (!text) return ErrorFile{path, {}, text.error().message()};
  const auto error = parse_error_file(*text);
  if (!error) return ErrorFile{path, {}, error.error().message()};
  return ErrorFile{path, *error, {}};
}

Result<std::string> error_file_for_parent(const std::string& path, int code) {
  auto text = read_text(path);
  if (!text) return failure(std::move(text.error()));
  auto document = parse_json(*text);
  if (!document) return failure(std::move(document.error()));
  if (text_member(*document, "message") != nullptr) return std::move(*text);
  if (!document->is_object() || !document->contains("message") ||
      !(*document)["message"].is_object()) {
    return failure({}, "it has no \"message\"");
  }
  (*document)["message"]["errorCode"] = code;
  return to_text(*document);
}

std::string launcher_error_file(const std::string& message,
                                std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  Json document;
  document["message"]["message"] = message;
  document["message"]["extraInfo"] = {{"py_callstack", message},
                                      {"timestamp", std::to_string(seconds)}};
  return to_text(document);
}

}  // namespace rankrun::agent
