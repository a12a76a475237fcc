// SPDX-License-Identifier: Apache-2.0
#include "store/key_value.h"

#include "tests/store/allocations.h"
#include "tests/store/key_list.h"

#include <catch2/catch.hpp>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rankrun::store {
namespace {

using Released = std::vector<ConnectionId>;

constexpr ConnectionId kA = 1;
constexpr ConnectionId kB = 2;
constexpr ConnectionId kC = 3;

/// The map with one method for each operation; `released` is what the last of them released.
struct KeySpace {
  KeyValue map;
  Released released;

  Reply apply(ConnectionId from, Command command) {
    auto outcome = map.apply(from, command);
    REQUIRE(outcome.has_value());
    released = outcome->released;
    return outcome->reply;
  }

  Reply apply(ConnectionId from, Operation operation, std::string key, std::string value = {}) {
    Command command;
    command.operation = operation;
    command.key = std::move(key);
    command.value = std::move(value);
    return apply(from, std::move(command));
  }

  Reply apply(ConnectionId from, Operation operation, const std::vector<std::string>& keys) {
    Command command;
    command.operation = operation;
    command.keys = test::key_list(keys);
    return apply(from, std::move(command));
  }

  void set(ConnectionId from, std::string key, std::string value = "1") {
    const Reply reply = apply(from, Operation::set, std::move(key), std::move(value));
    REQUIRE(reply.index() == 0);
  }

  std::string get(const std::string& key) {
    const Value value = std::get<Value>(apply(kC + 1, Operation::get, key));
    return value ? *value : "missing";
  }

  std::string compare_set(std::string key, std::string expected, std::string desired) {
    Command command;
    command.operation = Operation::compare_set;
    command.key = std::move(key);
    command.expected = std::move(expected);
    command.value = std::move(desired);
    return *std::get<Value>(apply(kB, std::move(command)));
  }

  std::int64_t number(ConnectionId from, Operation operation, std::string key = {}) {
    return std::get<Number>(apply(from, operation, std::move(key))).number;
  }

  std::optional<std::int64_t> add(ConnectionId from, std::string key, std::int64_t delta) {
    Command command;
    command.operation = Operation::add;
    command.key = std::move(key);
    command.number = delta;
    const auto outcome = map.apply(from, command);
    if (!outcome) {
      REQUIRE(outcome.error() == errc::not_a_number);
      return std::nullopt;
    }
    released = outcome->released;
    return std::get<Number>(outcome->reply).number;
  }

  /// True when the answer is immediate.
  bool wait(ConnectionId from, const std::vector<std::string>& keys) {
    return is_ready(apply(from, Operation::wait, keys));
  }

  bool barrier(ConnectionId from, std::string key, std::int64_t arrivals) {
    Command command;
    command.operation = Operation::barrier;
    command.key = std::move(key);
    command.number = arrivals;
    return is_ready(apply(from, std::move(command)));
  }

  static bool is_ready(const Reply& reply) {
    if (reply.index() == 0) return false;
    REQUIRE(std::get<Flag>(reply).code == 0);
    return true;
  }
};

}  // namespace

TEST_CASE("numbers are read as strtoll reads them", "[store][key_value]") {
  REQUIRE(parse_number("42") == 42);
  REQUIRE(parse_number(" \t\n\v\f\r12abc") == 12);
  REQUIRE(parse_number("+7") == 7);
  REQUIRE(parse_number("-7 8") == -7);
  REQUIRE(parse_number("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  REQUIRE(parse_number("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  for (const char* text :
       {"", " ", "abc", "-", "+", "+-5", "- 5", "9223372036854775808", "-9223372036854775809"}) {
    INFO('"' << text << '"');
    REQUIRE(parse_number(text) == tl::unexpected(errc::not_a_number));
  }
}

TEST_CASE("a value that a reply still refers to is not changed by what comes later",
          "[store][key_value]") {
  KeySpace keys;
  keys.set(kA, "k", "old");
  const Value reply = std::get<Value>(keys.apply(kA, Operation::get, "k"));
  SECTION("set") {
    keys.set(kB, "k", "new");
  }
  SECTION("append") {
    keys.apply(kB, Operation::append, "k", "new");
  }
  SECTION("compare_set") {
    keys.compare_set("k", "old", "new");
  }
  SECTION("delete") {
    keys.apply(kB, Operation::delete_key, "k");
  }
  REQUIRE(*reply == "old");
  REQUIRE(keys.get("k") != "old");
}

TEST_CASE("add counts from zero, wraps, and refuses text without changing it",
          "[store][key_value]") {
  KeySpace keys;
  REQUIRE(keys.add(kA, "c", 5) == 5);
  REQUIRE(keys.add(kA, "c", -7) == -2);
  REQUIRE(keys.get("c") == "-2");
  keys.set(kA, "c", " 12abc");
  REQUIRE(keys.add(kA, "c", 1) == 13);
  keys.set(kA, "c", "9223372036854775807");
  REQUIRE(keys.add(kA, "c", 1) == std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"", "abc", "9223372036854775808"}) {
    keys.set(kA, "c", text);
    REQUIRE(!keys.add(kA, "c", 1));
    REQUIRE(keys.get("c") == text);
  }
}

TEST_CASE("compare_set stores only on a match and wakes only if it stored", "[store][key_value]") {
  KeySpace keys;
  REQUIRE(!keys.wait(kA, {"k"}));
  REQUIRE(keys.compare_set("k", "x", "new") == "x");
  REQUIRE(keys.released.empty());
  REQUIRE(keys.get("k") == "missing");
  REQUIRE(keys.compare_set("k", "", "one") == "one");
  REQUIRE(keys.released == Released{kA});
  REQUIRE(keys.compare_set("k", "", "two") == "one");
  REQUIRE(keys.compare_set("k", "one", "two") == "two");
  REQUIRE(keys.get("k") == "two");
}

TEST_CASE("multi_get answers in order with missing keys in their place", "[store][key_value]") {
  KeySpace keys;
  keys.set(kA, "a", "1");
  const auto values =
      std::get<std::vector<Value>>(keys.apply(kA, Operation::multi_get, {"a", "none", "a"}));
  REQUIRE(values.size() == 3);
  REQUIRE(*values[0] == "1");
  REQUIRE(values[1] == nullptr);
  REQUIRE(values[2] == values[0]);
}

TEST_CASE("append creates and extends", "[store][key_value]") {
  KeySpace keys;
  keys.apply(kA, Operation::append, "k", "ab");
  keys.apply(kA, Operation::append, "k", "cd");
  REQUIRE(keys.get("k") == "abcd");
}

TEST_CASE("wait answers at once when all keys are present", "[store][key_value][wait]") {
  KeySpace keys;
  keys.set(kA, "k");
  keys.apply(kA, Operation::queue_push, "q", "1");
  REQUIRE(keys.wait(kA, {}));
  REQUIRE(keys.wait(kA, {"k", "q", "k"}));
}

TEST_CASE("wait is released by the last of its missing keys", "[store][key_value][wait]") {
  KeySpace keys;
  keys.set(kB, "here");
  REQUIRE(!keys.wait(kA, {"here", "x", "y"}));
  keys.set(kB, "x");
  REQUIRE(keys.released.empty());
  keys.add(kB, "y", 1);
  REQUIRE(keys.released == Released{kA});
  keys.set(kB, "y");
  REQUIRE(keys.released.empty());
}

TEST_CASE("a key that came and went again still counts for a wait", "[store][key_value][wait]") {
  KeySpace keys;
  REQUIRE(!keys.wait(kA, {"x", "y"}));
  keys.set(kB, "x");
  REQUIRE(keys.number(kB, Operation::delete_key, "x") == 1);
  REQUIRE(keys.released.empty());
  keys.set(kB, "y");
  REQUIRE(keys.released == Released{kA});
}

TEST_CASE("a key listed twice is released by one set", "[store][key_value][wait]") {
  KeySpace keys;
  REQUIRE(!keys.wait(kA, {"x", "x"}));
  keys.set(kB, "x");
  REQUIRE(keys.released == Released{kA});
}

TEST_CASE("all waiters of a key are released in order of arrival", "[store][key_value][wait]") {
  KeySpace keys;
  REQUIRE(!keys.wait(kC, {"x"}));
  REQUIRE(!keys.wait(kA, {"x"}));
  keys.set(kB, "x");
  REQUIRE(keys.released == Released{kC, kA});
}

TEST_CASE("a wait ends with cancel, with any other request and with the connection",
          "[store][key_value][wait]") {
  KeySpace keys;
  REQUIRE(!keys.wait(kA, {"x", "y"}));
  SECTION("cancel") {
    REQUIRE(std::get<Flag>(keys.apply(kA, Operation::cancel_wait, "")).code == 1);
  }
  SECTION("another request") {
    keys.number(kA, Operation::num_keys);
  }
  SECTION("a multi_set of nothing") {
    keys.apply(kA, Operation::multi_set, "");
  }
  SECTION("another wait") {
    REQUIRE(!keys.wait(kA, {"z"}));
    keys.set(kB, "x");
    REQUIRE(keys.released.empty());
    keys.set(kB, "z");
    REQUIRE(keys.released == Released{kA});
  }
  SECTION("the end of the connection") {
    keys.map.drop(kA);
  }
  keys.set(kB, "x");
  keys.set(kB, "y");
  REQUIRE(keys.released.empty());
  REQUIRE(std::get<Flag>(keys.apply(kA, Operation::cancel_wait, "")).code == 1);
}

TEST_CASE("one wait ends and the others on its key stay", "[store][key_value][wait]") {
  KeySpace keys;
  for (const ConnectionId id : {kA, kB, kC}) {
    REQUIRE(!keys.wait(id, {"x"}));
  }
  keys.map.drop(kB);
  keys.set(kB, "x");
  REQUIRE(keys.released == Released{kA, kC});
}

TEST_CASE("ten thousand waiters on one key come and go", "[store][key_value][wait]") {
  KeySpace keys;
  constexpr ConnectionId kFirst = 100;
  constexpr ConnectionId kLast = kFirst + 9999;
  for (ConnectionId id = kFirst; id <= kLast; ++id) {
    REQUIRE(!keys.wait(id, {"x"}));
  }
  for (ConnectionId id = kFirst; id < kLast; ++id) {
    keys.map.drop(id);
  }
  keys.set(kB, "x");
  REQUIRE(keys.released == Released{kLast});
}

TEST_CASE("a wait on many keys is released by the last, whatever was dropped meanwhile",
          "[store][key_value][wait]") {
  KeySpace keys;
  REQUIRE(!keys.wait(kA, {"x", "y", "z", "x"}));
  REQUIRE(!keys.wait(kB, {"y", "z"}));
  keys.set(kC, "y");
  keys.map.drop(kB);
  keys.set(kC, "x");
  REQUIRE(keys.released.empty());
  REQUIRE(!keys.wait(kB, {"q"}));
  keys.set(kC, "z");
  REQUIRE(keys.released == Released{kA});
}

TEST_CASE("storing a key again allocates nothing", "[store][key_value]") {
  KeySpace keys;
  const std::string key(40, 'k');
  const std::string value(200, 'v');
  keys.set(kA, key, value);
  keys.add(kA, "c", 1);
  Command set;
  set.operation = Operation::set;
  set.key = key;
  set.value = value;
  Command add;
  add.operation = Operation::add;
  add.key = "c";
  add.number = 1;
  Command get;
  get.operation = Operation::get;
  get.key = key;
  const std::size_t before = test::allocated_bytes();
  for (Command* command : {&set, &add, &get}) {
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(keys.map.apply(kA, *command));
    }
  }
  const std::size_t after = test::allocated_bytes();
  REQUIRE(after == before);
  REQUIRE(keys.get("c") == "4");
}

TEST_CASE("a queue is first in, first out, and apart from the keys", "[store][key_value][queue]") {
  KeySpace keys;
  keys.set(kA, "q", "value");
  keys.apply(kA, Operation::queue_push, "q", "1");
  keys.apply(kA, Operation::queue_push, "q", "2");
  REQUIRE(keys.number(kA, Operation::queue_len, "q") == 2);
  const auto first = std::get<Popped>(keys.apply(kA, Operation::queue_pop, "q"));
  REQUIRE(first.length_before == 2);
  REQUIRE(*first.head == "1");
  const auto second = std::get<Popped>(keys.apply(kA, Operation::queue_pop, "q"));
  REQUIRE(second.length_before == 1);
  REQUIRE(*second.head == "2");
  REQUIRE(std::get<Popped>(keys.apply(kA, Operation::queue_pop, "q")).length_before == 0);
  REQUIRE(keys.number(kA, Operation::queue_len, "q") == 0);
  REQUIRE(keys.get("q") == "value");
  REQUIRE(keys.number(kA, Operation::num_keys) == 1);
}

TEST_CASE("a push releases the longest waiting connection and only that",
          "[store][key_value][queue]") {
  KeySpace keys;
  REQUIRE(!keys.wait(kA, {"q"}));
  REQUIRE(!keys.wait(kB, {"q"}));
  keys.apply(kC, Operation::queue_push, "q", "1");
  REQUIRE(keys.released == Released{kA});
  keys.apply(kC, Operation::queue_push, "q", "2");
  REQUIRE(keys.released == Released{kB});
  keys.apply(kC, Operation::queue_push, "q", "3");
  REQUIRE(keys.released.empty());
}

TEST_CASE("a push passes over a connection that stopped waiting", "[store][key_value][queue]") {
  KeySpace keys;
  REQUIRE(!keys.wait(kA, {"q"}));
  REQUIRE(!keys.wait(kB, {"q"}));
  keys.apply(kA, Operation::cancel_wait, "");
  keys.apply(kC, Operation::queue_push, "q", "1");
  REQUIRE(keys.released == Released{kB});
}

TEST_CASE("delete takes a value and the queue of the same name", "[store][key_value][queue]") {
  KeySpace keys;
  keys.apply(kA, Operation::queue_push, "q", "1");
  REQUIRE(keys.number(kA, Operation::delete_key, "q") == 1);
  REQUIRE(keys.number(kA, Operation::queue_len, "q") == 0);
  REQUIRE(keys.number(kA, Operation::delete_key, "q") == 0);
  REQUIRE(!keys.wait(kB, {"q"}));
}

TEST_CASE("list_keys lists the keys and not the queues", "[store][key_value]") {
  KeySpace keys;
  keys.set(kA, "k");
  keys.apply(kA, Operation::queue_push, "q", "1");
  const auto list = std::get<KeyList>(keys.apply(kA, Operation::list_keys, ""));
  REQUIRE(list.keys.size() == 1);
  REQUIRE(*list.keys[0] == "k");
}

TEST_CASE("a barrier releases all when the last arrives and is open from then on",
          "[store][key_value][barrier]") {
  KeySpace keys;
  REQUIRE(!keys.barrier(kA, "b", 3));
  REQUIRE(!keys.barrier(kB, "b", 3));
  REQUIRE(keys.barrier(kC, "b", 3));
  REQUIRE(keys.released == Released{kA, kB});
  REQUIRE(keys.barrier(kA, "b", 3));
  REQUIRE(keys.get("b") == "4");
}

TEST_CASE("a barrier for nobody is open", "[store][key_value][barrier]") {
  KeySpace keys;
  REQUIRE(keys.barrier(kA, "b", 0));
  REQUIRE(keys.barrier(kA, "c", -1));
}

TEST_CASE("an arrival wakes no plain waiter until it is the last", "[store][key_value][barrier]") {
  KeySpace keys;
  REQUIRE(!keys.wait(kC, {"b"}));
  REQUIRE(!keys.barrier(kA, "b", 2));
  REQUIRE(keys.released.empty());
  REQUIRE(keys.barrier(kB, "b", 2));
  REQUIRE(keys.released == Released{kC, kA});
}

TEST_CASE("a cancelled arrival stays counted and is not released", "[store][key_value][barrier]") {
  KeySpace keys;
  REQUIRE(!keys.barrier(kA, "b", 2));
  keys.apply(kA, Operation::cancel_wait, "");
  REQUIRE(keys.barrier(kB, "b", 2));
  REQUIRE(keys.released.empty());
}

TEST_CASE("a set of the key opens a barrier, text closes the arrival",
          "[store][key_value][barrier]") {
  KeySpace keys;
  REQUIRE(!keys.barrier(kA, "b", 2));
  keys.set(kB, "b", "text");
  REQUIRE(keys.released == Released{kA});
  Command command;
  command.operation = Operation::barrier;
  command.key = "b";
  command.number = 2;
  REQUIRE(keys.map.apply(kC, command).error() == errc::not_a_number);
}

}  // namespace rankrun::store
