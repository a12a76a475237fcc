// SPDX-License-Identifier: Apache-2.0
#include "store/session.h"

#include <utility>

namespace rankrun::store {
namespace {

// No request is begun when the output has reached either.
constexpr std::size_t kMaxOutputBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxReferences = 1024;

}  // namespace

Session::Session(Service& service, ConnectionId id)
    : service_(service), id_(id), decoder_(service.legacy) {}

Session::~Session() {
  service_.keys.drop(id_);
}

Session::Done Session::take(std::span<const std::byte> input) {
  const std::uint64_t requests_before = decoder_.requests();
  const bool proved_before = decoder_.proved_2_1();
  Done done;
  while (done && !output_is_full()) {
    const auto command = decoder_.next(input);
    if (!command) {
      done = tl::unexpected(command.error());
    } else if (*command == nullptr) {
      break;
    } else {
      done = apply(**command);
    }
  }
  if (done) kept_.assign(input.begin(), input.end());
  count(requests_before, proved_before);
  return done;
}

Session::Done Session::go_on() {
  const std::vector<std::byte> input = std::exchange(kept_, {});
  return take(input);
}

Session::Done Session::decide() {
  const std::uint64_t requests_before = decoder_.requests();
  const Done done = apply(*decoder_.decide());
  count(requests_before, decoder_.proved_2_1());
  return done;
}

void Session::release() {
  encode(Flag{0}, output_);
}

Session::Done Session::apply(Command& command) {
  if (!std::exchange(service_.asked, true)) {
    service_.report.keys_at_first_request = service_.keys.size();
  }
  const auto outcome = service_.keys.apply(id_, command);
  if (!outcome) return tl::unexpected(outcome.error());
  encode(outcome->reply, output_);
  service_.released.insert(
      service_.released.end(), outcome->released.begin(), outcome->released.end());
  return {};
}

void Session::count(std::uint64_t requests_before, bool proved_before) {
  ServerReport& report = service_.report;
  const std::uint64_t requests = decoder_.requests();
  if (requests_before == 0 && requests > 0) {
    ++(decoder_.dialect() == Dialect::modern ? report.modern_clients : report.legacy_clients);
  }
  if (!proved_before && decoder_.proved_2_1()) ++report.proved_2_1;
  report.requests += requests - requests_before;
}

bool Session::output_is_full() const {
  return output_.bytes() >= kMaxOutputBytes || output_.references() >= kMaxReferences;
}

}  // namespace rankrun::store
