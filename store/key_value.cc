// SPDX-License-Identifier: Apache-2.0
#include "store/key_value.h"

#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

namespace rankrun::store {
namespace {

/// Up to this size values are copied.
constexpr std::size_t kCopiedUpTo = 4096;

constexpr Flag kReady{0};
constexpr Flag kNotReady{1};
constexpr Flag kCancelled{1};

Outcome answer(Reply reply) {
  return {std::move(reply), {}};
}

/// A small value is copied, so that its connection keeps the buffer; a large one is moved.
std::string take(std::string& value) {
  return value.size() <= kCopiedUpTo ? value : std::move(value);
}

/// Overflow wraps, as it does in practice upstream.
std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

tl::expected<std::int64_t, errc> parse_number(std::string_view text) {
  const auto start = text.find_first_not_of(" \t\n\v\f\r");
  if (start == std::string_view::npos) return tl::unexpected(errc::not_a_number);
  text.remove_prefix(start);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return tl::unexpected(errc::not_a_number);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return tl::unexpected(errc::not_a_number);
  return number;
}

tl::expected<Outcome, errc> KeyValue::apply(ConnectionId from, Command& command) {
  // A wait ends with the next request, so that its late 00 cannot be taken for the reply to that.
  drop(from);
  switch (command.operation) {
    case Operation::set:
      return set(command);
    case Operation::compare_set:
      return compare_set(command);
    case Operation::get:
      return answer(find(command.key));
    case Operation::add:
      return add(command);
    case Operation::check:
      return check(command);
    case Operation::wait:
      return wait(from, command);
    case Operation::num_keys:
      return answer(Number{static_cast<std::int64_t>(size())});
    case Operation::delete_key:
      return remove(command);
    case Operation::append:
      return append(command);
    case Operation::multi_get:
      return get_all(command);
    case Operation::cancel_wait:
      return answer(kCancelled);
    case Operation::ping:
      return answer(Nonce{static_cast<std::uint32_t>(command.number)});
    case Operation::queue_push:
      return push(command);
    case Operation::queue_pop:
      return pop(command);
    case Operation::queue_len:
      return queue_length(command);
    case Operation::list_keys:
      return list_keys();
    case Operation::barrier:
      return barrier(from, command);
    case Operation::multi_set:  // its pairs come as SETs
    case Operation::validate:   // the decoder keeps it to itself
      break;
  }
  return Outcome();
}

void KeyValue::drop(ConnectionId connection) {
  const auto wait = waits_of_.find(connection);
  if (wait == waits_of_.end()) return;
  for (const auto& [key, registration] : wait->second.places) {
    if (key == nullptr) continue;
    key->second.erase(registration);
    if (key->second.empty()) waiting_on_.erase(waiting_on_.find(key->first));
  }
  waits_of_.erase(wait);
}

Value KeyValue::find(std::string_view key) const {
  const auto entry = values_.find(key);
  return entry == values_.end() ? nullptr : entry->second;
}

Outcome KeyValue::set(Command& command) {
  Outcome outcome;
  store(command.key, command.value);
  wake_all(command.key, outcome.released);
  return outcome;
}

Outcome KeyValue::compare_set(Command& command) {
  Value current = find(command.key);
  const bool matches = current ? *current == command.expected : command.expected.empty();
  if (!matches && current) return answer(std::move(current));
  // Misleading to the caller, but what upstream answers when the key is missing.
  if (!matches) return answer(std::make_shared<const std::string>(std::move(command.expected)));
  current.reset();  // so that the value can be replaced in place
  store(command.key, command.value);
  Outcome outcome = answer(find(command.key));
  wake_all(command.key, outcome.released);
  return outcome;
}

KeyValue::Result KeyValue::add(const Command& command) {
  const auto sum = increase(command.key, command.number);
  if (!sum) return tl::unexpected(sum.error());
  Outcome outcome = answer(Number{*sum});
  wake_all(command.key, outcome.released);
  return outcome;
}

Outcome KeyValue::check(const Command& command) const {
  for (std::size_t i = 0; i < command.keys.size(); ++i) {
    if (!present(command.keys[i])) return answer(kNotReady);
  }
  return answer(kReady);
}

Outcome KeyValue::wait(ConnectionId from, const Command& command) {
  bool ready = true;
  for (std::size_t i = 0; i < command.keys.size(); ++i) {
    if (present(command.keys[i])) continue;
    enlist(from, command.keys[i]);
    ready = false;
  }
  return ready ? answer(kReady) : Outcome();
}

Outcome KeyValue::remove(const Command& command) {
  const auto removed = values_.erase(command.key) + queues_.erase(command.key);
  return answer(Number{removed > 0 ? 1 : 0});
}

Outcome KeyValue::append(Command& command) {
  const auto entry = values_.find(command.key);
  if (entry == values_.end()) {
    store(command.key, command.value);
  } else if (Slot& slot = entry->second; slot.use_count() == 1) {
    slot->append(command.value);
  } else {
    slot = std::make_shared<std::string>(*slot + command.value);
  }
  Outcome outcome;
  wake_all(command.key, outcome.released);
  return outcome;
}

Outcome KeyValue::get_all(const Command& command) const {
  std::vector<Value> values;
  values.reserve(command.keys.size());
  for (std::size_t i = 0; i < command.keys.size(); ++i) {
    values.push_back(find(command.keys[i]));
  }
  return answer(std::move(values));
}

Outcome KeyValue::push(Command& command) {
  Outcome outcome;
  queues_[command.key].push_back(std::make_shared<const std::string>(take(command.value)));
  wake_longest(command.key, outcome.released);
  return outcome;
}

Outcome KeyValue::pop(const Command& command) {
  const auto queue = queues_.find(command.key);
  if (queue == queues_.end()) return answer(Popped());
  Popped popped;
  popped.length_before = static_cast<std::int64_t>(queue->second.size());
  popped.head = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) queues_.erase(queue);
  return answer(std::move(popped));
}

Outcome KeyValue::queue_length(const Command& command) const {
  const auto queue = queues_.find(command.key);
  const std::size_t length = queue == queues_.end() ? 0 : queue->second.size();
  return answer(Number{static_cast<std::int64_t>(length)});
}

Outcome KeyValue::list_keys() const {
  KeyList list;
  list.keys.reserve(values_.size());
  for (const auto& [key, value] : values_) {
    list.keys.push_back(&key);
  }
  return answer(std::move(list));
}

KeyValue::Result KeyValue::barrier(ConnectionId from, const Command& command) {
  const auto arrived = increase(command.key, 1);
  if (!arrived) return tl::unexpected(arrived.error());
  if (*arrived < command.number) {
    enlist(from, command.key);
    return Outcome();
  }
  Outcome outcome = answer(kReady);
  wake_all(command.key, outcome.released);
  return outcome;
}

bool KeyValue::present(std::string_view key) const {
  return values_.find(key) != values_.end() || queues_.find(key) != queues_.end();
}

void KeyValue::store(std::string_view key, std::string& value) {
  const auto entry = values_.find(key);
  if (entry == values_.end()) {
    values_.emplace(key, std::make_shared<std::string>(take(value)));
  } else if (Slot& slot = entry->second; slot.use_count() > 1) {
    slot = std::make_shared<std::string>(take(value));
  } else if (value.size() <= kCopiedUpTo && slot->capacity() <= kCopiedUpTo) {
    slot->assign(value);
  } else {
    *slot = std::move(value);
  }
}

tl::expected<std::int64_t, errc> KeyValue::increase(std::string_view key, std::int64_t delta) {
  tl::expected<std::int64_t, errc> number = 0;
  const auto entry = values_.find(key);
  if (entry != values_.end()) number = parse_number(*entry->second);
  if (!number) return number;
  const std::int64_t sum = wrapping_sum(*number, delta);
  std::string text = std::to_string(sum);
  store(key, text);
  return sum;
}

void KeyValue::enlist(ConnectionId connection, std::string_view key) {
  auto entry = waiting_on_.find(key);
  if (entry == waiting_on_.end()) entry = waiting_on_.try_emplace(std::string(key)).first;
  Wait& wait = waits_of_[connection];
  Waiters& waiters = entry->second;
  waiters.push_back({connection, wait.places.size()});
  wait.places.push_back({&*entry, std::prev(waiters.end())});
  ++wait.missing;
}

void KeyValue::wake_all(std::string_view key, std::vector<ConnectionId>& released) {
  if (waiting_on_.empty()) return;
  const auto entry = waiting_on_.find(key);
  if (entry == waiting_on_.end()) return;
  for (const Registration& registration : entry->second) {
    settle(registration, released);
  }
  waiting_on_.erase(entry);
}

void KeyValue::wake_longest(std::string_view key, std::vector<ConnectionId>& released) {
  const auto entry = waiting_on_.find(key);
  if (entry == waiting_on_.end()) return;
  settle(entry->second.front(), released);
  entry->second.pop_front();
  if (entry->second.empty()) waiting_on_.erase(entry);
}

void KeyValue::settle(const Registration& registration, std::vector<ConnectionId>& released) {
  const auto wait = waits_of_.find(registration.connection);
  wait->second.places[registration.place].key = nullptr;
  if (--wait->second.missing > 0) return;
  waits_of_.erase(wait);
  released.push_back(registration.connection);
}

}  // namespace rankrun::store
