// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error; must be looked at.
#pragma once

#include "store/base/error.h"

#include <tl/expected.hpp>

#include <string>
#include <system_error>
#include <utility>

namespace rankrun::base {

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

/// `return failure(...)` from any function that returns a Result.
[[nodiscard]] inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

[[nodiscard]] inline tl::unexpected<Error> failure(std::error_code code,
                                                   std::string context,
                                                   std::string remedy = {}) {
  return failure(Error{code, std::move(context), std::move(remedy)});
}

/// The failure that `errno` describes.
[[nodiscard]] inline tl::unexpected<Error> errno_failure(int error_number,
                                                         std::string context,
                                                         std::string remedy = {}) {
  return failure(std::error_code(error_number, std::generic_category()),
                 std::move(context),
                 std::move(remedy));
}

}  // namespace rankrun::base
