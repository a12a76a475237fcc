// SPDX-License-Identifier: Apache-2.0
#include "store/errc.h"

#include <catch2/catch.hpp>

#include <set>
#include <string>

namespace rankrun::store {

TEST_CASE("every store error has a text of its own", "[store][errc]") {
  const int last = static_cast<int>(errc::peer_not_reading);
  const std::string unknown = store_category().message(last + 1);
  std::set<std::string> texts = {unknown};
  for (int value = 1; value <= last; ++value) {
    const std::error_code code = static_cast<errc>(value);
    INFO(value << ": " << code.message());
    REQUIRE(code.category() == store_category());
    REQUIRE(texts.insert(code.message()).second);
  }
  REQUIRE(unknown == "unknown error");
  REQUIRE(std::string(store_category().name()) == "store");
}

}  // namespace rankrun::store
