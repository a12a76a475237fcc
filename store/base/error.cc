// SPDX-License-Identifier: Apache-2.0
#include "store/base/error.h"

#include "store/base/assert.h"
#include "store/base/text.h"

#include <cstdio>
#include <cstdlib>

namespace rankrun::base {
namespace {

class BaseCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "base"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::timed_out:
        return "timed out";
      case errc::invalid_value:
        return "invalid value";
      case errc::internal_error:
        return "internal error (please report it)";
    }
    return "unknown error";
  }
};

}  // namespace

const std::error_category& base_category() {
  static const BaseCategory category;
  return category;
}

std::error_code make_error_code(errc code) {
  return {static_cast<int>(code), base_category()};
}

std::string Error::message() const {
  std::string text = context;
  if (code) {
    if (!text.empty()) text += ": ";
    text += code.message();
  }
  if (!remedy.empty()) text += "; " + remedy;
  return escape_control(text);  // names and values come from outside
}

Error Error::within(const std::string& outer) const {
  return Error{code, context.empty() ? outer : outer + ": " + context, remedy};
}

Error error_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& exception) {
    return {errc::internal_error, exception.what(), {}};
  } catch (...) {
    return {errc::internal_error, "unknown exception", {}};
  }
}

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
  std::abort();
}

}  // namespace rankrun::base
