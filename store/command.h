// SPDX-License-Identifier: Apache-2.0
// The vocabulary between the codec and the key/value map: what a client asks, what it is answered,
// and how large either may be. Plain values without behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rankrun::store {

inline constexpr std::size_t kMaxKeyBytes = 8192;                    // as upstream's libuv server
inline constexpr std::size_t kMaxValueBytes = std::size_t{8} << 20;  // as upstream, per request
inline constexpr std::size_t kMaxKeys = 131072;                      // as upstream, per request
/// Ours, so that a connection is bounded: 128 bytes for each of kMaxKeys.
inline constexpr std::size_t kMaxKeyListBytes = std::size_t{16} << 20;

/// What a client can ask, whatever its dialect calls it.
enum class Operation : std::uint8_t {
  validate,
  set,
  compare_set,
  get,
  add,
  check,
  wait,
  num_keys,
  delete_key,
  append,
  multi_get,
  multi_set,
  cancel_wait,
  ping,
  queue_push,
  queue_pop,
  queue_len,
  list_keys,
  barrier,
};

/// The keys of one request, end to end: they cost no allocation each, and none at all once the
/// buffers have grown.
struct Keys {
  std::string bytes;
  std::vector<std::uint32_t> ends;  // where each key ends in `bytes`

  std::size_t size() const { return ends.size(); }
  std::string_view operator[](std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : ends[index - 1];
    return std::string_view(bytes).substr(begin, ends[index] - begin);
  }
  /// The bytes that were added to `bytes` are a key.
  void end_key() { ends.push_back(static_cast<std::uint32_t>(bytes.size())); }

  bool operator==(const Keys&) const = default;
};

/// One request; an operation uses the members that it needs. A MULTI_SET arrives as one multi_set
/// (`number` pairs follow) and then that many `set`, so that no more than one pair is ever held.
struct Command {
  Operation operation = Operation::validate;
  std::string key;
  std::string expected;     // compare_set
  std::string value;        // what to store
  std::int64_t number = 0;  // add: delta, barrier: n, ping: nonce, multi_set: pairs
  Keys keys;                // check, wait, multi_get

  bool operator==(const Command&) const = default;
};

/// A stored value. Shared, because a reply in flight keeps the bytes it promised while the map
/// moves on, and so no GET ever copies them. Null stands for a missing key.
using Value = std::shared_ptr<const std::string>;

/// A one-byte reply: 0 ready, 1 not ready; CANCEL_WAIT answers 1.
struct Flag {
  std::uint8_t code = 0;
};
struct Number {
  std::int64_t number = 0;
};
struct Nonce {
  std::uint32_t nonce = 0;
};
struct Popped {
  std::int64_t length_before = 0;
  Value head;  // null when the queue was empty
};
struct KeyList {
  std::vector<const std::string*> keys;  // borrowed from the map until its next change
};

/// The answer to one command; monostate is none, or none yet.
using Reply =
    std::variant<std::monostate, Flag, Number, Nonce, Value, std::vector<Value>, Popped, KeyList>;

}  // namespace rankrun::store
