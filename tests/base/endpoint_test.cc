// SPDX-License-Identifier: Apache-2.0
#include "store/base/endpoint.h"

#include <catch2/catch.hpp>

namespace rankrun::base {
namespace {

TEST_CASE("an endpoint is read in every form that names a host", "[base][endpoint]") {
  struct Example {
    std::string text;
    Endpoint endpoint;
  };
  const auto example = GENERATE(values<Example>({
      {"node1", {"node1", 29400}},
      {"node1:1", {"node1", 1}},
      {"node-1.example_x.org:65535", {"node-1.example_x.org", 65535}},
      {" 192.0.2.7:0 ", {"192.0.2.7", 0}},
      {"[::1]", {"::1", 29400}},
      {"[2001:db8::1]:29500", {"2001:db8::1", 29500}},
      {"[fe80::1%eth0]:5", {"fe80::1%eth0", 5}},
  }));
  CAPTURE(example.text);
  const auto parsed = parse_endpoint(example.text, 29400);
  REQUIRE(parsed);
  CHECK(*parsed == example.endpoint);
}

TEST_CASE("a bad endpoint is refused with the text and the right forms", "[base][endpoint]") {
  const std::string text = GENERATE(as<std::string>(),
                                    "",
                                    "  ",
                                    ":29400",
                                    "node1:",
                                    "node1:port",
                                    "node1:65536",
                                    "node1:-1",
                                    "node1: 1",
                                    "node1:000001",
                                    "no de:1",
                                    "node/1:1",
                                    "::1",
                                    "2001:db8::1:29500",
                                    "[::1",
                                    "[]",
                                    "[::1]29500",
                                    "[::1]:");
  CAPTURE(text);
  const auto parsed = parse_endpoint(text, 29400);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == errc::invalid_value);
  CHECK_THAT(parsed.error().message(), Catch::Contains("host:port"));
}

TEST_CASE("an endpoint without a port needs a default one", "[base][endpoint]") {
  CHECK_FALSE(parse_endpoint("node1", std::nullopt));
  CHECK(parse_endpoint("node1:7", std::nullopt));
}

TEST_CASE("an endpoint is written as it can be read again", "[base][endpoint]") {
  CHECK(to_string(Endpoint{"node1", 1}) == "node1:1");
  CHECK(to_string(Endpoint{"::1", 29500}) == "[::1]:29500");
}

TEST_CASE("a port has 1 to 5 digits and is below 65536", "[base][endpoint]") {
  CHECK(*parse_port("0") == 0);
  CHECK(*parse_port("65535") == 65535);
  for (const auto* text : {"", "65536", "00001x", "123456", "+1", "-1", " 1", "1 "}) {
    CAPTURE(text);
    CHECK_FALSE(parse_port(text));
  }
}

}  // namespace
}  // namespace rankrun::base
