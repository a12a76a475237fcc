// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/store_wire.h"

namespace rankrun::bench::wire {
namespace {

constexpr std::size_t kMagicBytes = 4;

// Walks over a request; past its end it stays at nothing.
class Walk {
 public:
  explicit Walk(std::string_view bytes) : bytes_(bytes) {}

  void skip(std::size_t count) {
    whole_ = whole_ && bytes_.size() - at_ >= count;
    if (whole_) at_ += count;
  }
  std::uint64_t number() {
    const std::size_t begin = at_;
    skip(kCountBytes);
    return whole_ ? read_u64(bytes_.substr(begin)) : 0;
  }
  void blobs(std::uint64_t count) {
    for (; whole_ && count > 0; --count) {
      skip(number());
    }
  }
  std::size_t length() const { return whole_ ? at_ : 0; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool whole_ = true;
};

std::string list(char code, const std::vector<std::string>& keys) {
  std::string bytes = code + u64(keys.size());
  for (const std::string& key : keys) {
    bytes += blob(key);
  }
  return bytes;
}

}  // namespace

std::string u64(std::uint64_t number) {
  std::string bytes;
  for (std::size_t i = 0; i < kCountBytes; ++i) {
    bytes += static_cast<char>((number >> (8 * i)) & 0xff);
  }
  return bytes;
}

std::uint64_t read_u64(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = kCountBytes; i > 0; --i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return number;
}

std::string blob(std::string_view bytes) {
  return u64(bytes.size()) + std::string(bytes);
}

std::string handshake() {
  return {'\0', '\xce', '\xf7', '\x85', '\x3c'};
}
std::string ping() {
  return "\x0d\x78\x56\x34\x12";
}
std::string set(std::string_view key, std::string_view value) {
  return '\x01' + blob(key) + blob(value);
}
std::string get(std::string_view key) {
  return '\x03' + blob(key);
}
std::string add(std::string_view key, std::uint64_t delta) {
  return '\x04' + blob(key) + u64(delta);
}
std::string wait(const std::vector<std::string>& keys) {
  return list('\x06', keys);
}
std::string multi_get(const std::vector<std::string>& keys) {
  return list('\x0a', keys);
}

std::string multi_set(const std::vector<std::string>& keys, std::string_view value) {
  std::string bytes = '\x0b' + u64(keys.size());
  for (const std::string& key : keys) {
    bytes += blob(key) + blob(value);
  }
  return bytes;
}

std::size_t request_length(std::string_view bytes) {
  Walk walk(bytes);
  if (bytes.empty()) return 0;
  walk.skip(1);
  switch (bytes[0]) {
    case '\x00':
    case '\x0d':
      walk.skip(kMagicBytes);
      return walk.length();
    case '\x01':
      walk.blobs(2);
      return walk.length();
    case '\x03':
      walk.blobs(1);
      return walk.length();
    case '\x04':
      walk.blobs(1);
      walk.skip(kCountBytes);
      return walk.length();
    case '\x06':
    case '\x0a':
      walk.blobs(walk.number());
      return walk.length();
    default:
      return 0;
  }
}

}  // namespace rankrun::bench::wire
