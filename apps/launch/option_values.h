// SPDX-License-Identifier: Apache-2.0
// Pure: what the value rules of all options share.
#pragma once

#include "apps/launch/argument_rules.h"
#include "store/base/clock.h"
#include "store/base/result.h"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankrun::launch {

/// The failure that names the option with its value, by what set it.
[[nodiscard]] tl::unexpected<base::Error> invalid(const ParsedArguments& arguments,
                                                  std::string_view option,
                                                  std::string remedy);

/// The value, where an empty one means none.
std::optional<std::string> non_empty(const ParsedArguments& arguments, std::string_view option);

/// A whole number from `least` up to `most`; nothing when the option is not given.
base::Result<std::optional<int>> whole_number(const ParsedArguments& arguments,
                                              std::string_view option,
                                              int least,
                                              int most = std::numeric_limits<int>::max());

/// Seconds from 0, with fractions; nothing when the option is not given.
base::Result<std::optional<base::Duration>> seconds(const ParsedArguments& arguments,
                                                    std::string_view option);

/// The value of an option that takes one of its literal words, or `fallback`.
base::Result<std::string> literal_word(const ParsedArguments& arguments,
                                       std::string_view option,
                                       std::string_view fallback);

/// Fills places with results and keeps the first error.
class Fields {
 public:
  template <typename T, typename U>
  void set(T& place, base::Result<U> value) {
    if (value) {
      place = std::move(*value);
    } else {
      keep(std::move(value.error()));
    }
  }

  /// The same for a value that may not be given: then `place` keeps its default.
  template <typename T, typename U>
  void set_given(T& place, base::Result<std::optional<U>> value) {
    if (!value) {
      keep(std::move(value.error()));
    } else if (*value) {
      place = T(std::move(**value));
    }
  }

  template <typename T>
  void check(base::Result<T> result) {
    if (!result) keep(std::move(result.error()));
  }

  base::Result<void> result() const {
    if (error_) return base::failure(*error_);
    return {};
  }

 private:
  void keep(base::Error error) {
    if (!error_) error_ = std::move(error);
  }

  std::optional<base::Error> error_;
};

}  // namespace rankrun::launch
