// SPDX-License-Identifier: Apache-2.0
// Requests that tests send, as bytes.
#pragma once

#include "tests/store/vectors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rankrun::store::test {

inline const std::string handshake = from_hex("00cef7853c");

inline std::string u64(std::uint64_t number) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>((number >> (8 * i)) & 0xff);
  }
  return bytes;
}

inline std::string blob(const std::string& bytes) {
  return u64(bytes.size()) + bytes;
}
inline std::string set(const std::string& key, const std::string& value) {
  return "\x01" + blob(key) + blob(value);
}
inline std::string get(const std::string& key) {
  return "\x03" + blob(key);
}
inline std::string add(const std::string& key, std::uint64_t delta) {
  return "\x04" + blob(key) + u64(delta);
}
inline std::string wait(const std::string& key) {
  return "\x06" + u64(1) + blob(key);
}

inline std::string to_hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 0xf];
  }
  return text;
}

/// One of each request, with what a connection sends before the first.
struct WholeRequest {
  std::string opening;
  std::string bytes;
};

inline std::vector<WholeRequest> whole_requests() {
  const std::string key = blob("/k");
  const std::string value = blob("v1");
  const std::string keys = u64(2) + key + key;
  const std::string pairs = u64(2) + key + value + key + value;
  const std::string number = u64(3);
  const std::vector<std::string> modern = {"\x01" + key + value,
                                           "\x02" + key + value + value,
                                           "\x03" + key,
                                           "\x04" + key + number,
                                           "\x05" + keys,
                                           "\x06" + keys,
                                           std::string("\x07"),
                                           "\x08" + key,
                                           "\x09" + key + value,
                                           "\x0a" + keys,
                                           "\x0b" + pairs,
                                           std::string("\x0c"),
                                           "\x0d" + from_hex("01020304"),
                                           "\x0e" + key + value,
                                           "\x0f" + key,
                                           "\x10" + key,
                                           std::string("\x11"),
                                           "\x12" + key + number};
  const std::vector<std::string> legacy = {std::string(1, '\0') + key + value,
                                           "\x01" + key + value + value,
                                           "\x02" + key,
                                           "\x03" + key + number,
                                           "\x04" + keys,
                                           "\x05" + keys,
                                           std::string("\x06"),
                                           "\x07" + key,
                                           "\x08" + key + value,
                                           "\x09" + keys,
                                           "\x0a" + pairs,
                                           std::string("\x0b")};
  std::vector<WholeRequest> all;
  all.reserve(modern.size() + legacy.size());
  for (const std::string& request : modern) {
    all.push_back({handshake, request});
  }
  for (const std::string& request : legacy) {
    all.push_back({"", request});
  }
  return all;
}

}  // namespace rankrun::store::test
