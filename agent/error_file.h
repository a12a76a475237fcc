// SPDX-License-Identifier: Apache-2.0
// Error files: what a worker tells its launcher about its end, and what we tell ours. A file may
// hold anything; whatever it is, reading it ends soon and takes bounded memory.
#pragma once

#include "store/base/result.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rankrun::agent {

/// A worker's own words about its end. Valid UTF-8, each at most kMostErrorText bytes: the start of
/// the message, the end of the call stack.
struct WorkerError {
  std::string message;
  std::string call_stack;  ///< many lines; empty in the plain form

  bool operator==(const WorkerError&) const = default;
};

inline constexpr std::size_t kMostErrorText = 4096;
inline constexpr std::size_t kMostErrorFile = std::size_t{1} << 20;

/// An error file that is there, whatever it is.
struct ErrorFile {
  std::string path;
  std::optional<WorkerError> error;
  std::string invalid;  ///< why there is no error in it
};

/// Reads a worker's error file; nothing when there is none.
std::optional<ErrorFile> read_error_file(const std::string& path);

/// Pure: the text of an error file, in either form that torchrun accepts.
base::Result<WorkerError> parse_error_file(std::string_view text);

/// The worker's file as the launcher above us shall have it: with "errorCode" inside `message`; the
/// plain form as it is.
base::Result<std::string> error_file_for_parent(const std::string& path, int code);

/// Pure: an error file of our own.
std::string launcher_error_file(const std::string& message,
                                std::chrono::system_clock::time_point time);

}  // namespace rankrun::agent
