// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/store_wire.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace rankrun::bench::wire {
namespace {

using namespace std::string_literals;

const std::string key = "\x02\0\0\0\0\0\0\0/k"s;
const std::string value = "\x02\0\0\0\0\0\0\0v1"s;
const std::string two = "\x02\0\0\0\0\0\0\0"s;

}  // namespace

TEST_CASE("requests are those of the protocol", "[bench][wire]") {
  CHECK(handshake() == "\0\xce\xf7\x85\x3c"s);
  CHECK(ping().size() == 5);
  CHECK(ping()[0] == '\x0d');
  CHECK(set("/k", "v1") == "\x01" + key + value);
  CHECK(get("/k") == "\x03" + key);
  CHECK(add("/k", 2) == "\x04" + key + two);
  CHECK(wait({"/k", "/k"}) == "\x06" + two + key + key);
  CHECK(multi_get({"/k", "/k"}) == "\x0a" + two + key + key);
  CHECK(multi_set({"/k", "/k"}, "v1") == "\x0b" + two + key + value + key + value);
}

TEST_CASE("numbers come back as they went", "[bench][wire]") {
  for (const std::uint64_t number : {0UL, 1UL, 258UL, ~0UL}) {
    CHECK(read_u64(u64(number)) == number);
  }
  CHECK(u64(0x0102) == "\x02\x01\0\0\0\0\0\0"s);
}

TEST_CASE("the length of a request is known once it is whole", "[bench][wire]") {
  for (const std::string& request : std::vector<std::string>{handshake(),
                                                             ping(),
                                                             set("/k", "v1"),
                                                             get("/k"),
                                                             add("/k", 2),
                                                             wait({"/k", "/key"}),
                                                             multi_get({"/k", ""})}) {
    CHECK(request_length(request + get("/more")) == request.size());
    for (std::size_t length = 0; length < request.size(); ++length) {
      CHECK(request_length(std::string_view(request).substr(0, length)) == 0);
    }
  }
  CHECK(request_length("\xff") == 0);
  CHECK(request_length("\x01" + u64(~0UL) + "x") == 0);
}

}  // namespace rankrun::bench::wire
