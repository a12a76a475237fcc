// SPDX-License-Identifier: Apache-2.0
// Not Asio's resolver: in Boost 1.81 it cannot be cancelled, and its loop waits for it at the end.
#include "store/base/resolve.h"

#include "store/base/async.h"
#include "store/base/unique_fd.h"

#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace rankrun::base {
namespace {

// What the thread and the one who waits share.
struct LookUp {
  std::string host;                                         // set before the thread starts
  UniqueFd done{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  // readable when the look-up has ended
  std::mutex mutex;                                         // protects what follows
  int error = 0;                                            // of getaddrinfo
  std::vector<std::string> addresses;
};

std::string literal_of(const addrinfo& entry) {
  std::array<char, NI_MAXHOST> text{};
  const int error = ::getnameinfo(
      entry.ai_addr, entry.ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text.data() : "";
}

void look_up(LookUp& look_up) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(look_up.host.c_str(), nullptr, &hints, &found);
  const std::scoped_lock lock(look_up.mutex);
  look_up.error = error;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    look_up.addresses.push_back(literal_of(*entry));
  }
  if (found != nullptr) ::freeaddrinfo(found);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(look_up.done.get(), &one, sizeof one);
}

std::error_code start(const std::shared_ptr<LookUp>& shared) {
  if (!shared->done) return {errno, std::generic_category()};
  try {
    std::thread([shared] { look_up(*shared); }).detach();
  } catch (const std::system_error& refused) {
    return refused.code();
  }
  return {};
}

}  // namespace

asio::awaitable<Result<std::vector<std::string>>> resolve_host(std::string host,
                                                               TimePoint deadline) {
  const std::string tried = "cannot look up the address of '" + host + "'";
  if (Clock::now() >= deadline) co_return failure(errc::timed_out, tried);
  // Shared with a thread that may outlive us.
  const auto shared = std::make_shared<LookUp>();
  shared->host = std::move(host);
  if (const auto error = start(shared)) co_return failure(error, tried);

  asio::posix::stream_descriptor done(co_await asio::this_coro::executor,
                                      ::fcntl(shared->done.get(), F_DUPFD_CLOEXEC, 0));
  std::uint64_t count = 0;
  const auto signalled = co_await with_timeout(
      done.async_read_some(asio::buffer(&count, sizeof count), kUseTuple), deadline - Clock::now());
  if (!signalled) co_return failure(errc::timed_out, tried);
  const std::scoped_lock lock(shared->mutex);
  if (shared->error != 0) {
    const boost::system::error_code code(shared->error, asio::error::get_addrinfo_category());
    co_return failure(code, tried);
  }
  // IPv4 first: it is what the oldest PyTorch clients and gloo reach by a name.
  std::stable_partition(
      shared->addresses.begin(), shared->addresses.end(), [](const std::string& address) {
        return address.find(':') == std::string::npos;
      });
  co_return std::move(shared->addresses);
}

}  // namespace rankrun::base
