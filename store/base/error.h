// SPDX-License-Identifier: Apache-2.0
// Errors are values: a typed code, what was tried, and what to do instead.
#pragma once

#include <exception>
#include <string>
#include <system_error>

namespace rankrun::base {

/// What can go wrong in the foundation. Every module has such an enum of its own.
enum class errc {
  timed_out = 1,   ///< a wait reached its deadline
  invalid_value,   ///< text that breaks the grammar of what it should be
  internal_error,  ///< a bug surfaced as an exception
};

const std::error_category& base_category();
std::error_code make_error_code(errc code);

/// One failure. `context` says what was tried and with what; `remedy`, when there is one, says what
/// to do instead. The code keeps the type, so callers can decide on it.
struct Error {
  std::error_code code;
  std::string context;
  std::string remedy;

  /// One line for a person: "context: text of the code; remedy".
  std::string message() const;

  /// The same error with what an outer layer tried put in front of its context.
  Error within(const std::string& outer) const;
};

/// What escaped from a task, as errc::internal_error: exceptions are bugs or exhausted memory.
Error error_of(const std::exception_ptr& thrown);

}  // namespace rankrun::base

template <>
struct std::is_error_code_enum<rankrun::base::errc> : std::true_type {};
