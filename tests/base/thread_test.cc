// SPDX-License-Identifier: Apache-2.0
#include "store/base/thread.h"

#include <catch2/catch.hpp>

#include <pthread.h>
#include <signal.h>

#include <array>
#include <string>

namespace rankrun::base {
namespace {

TEST_CASE("a thread has its name and gets no signals, unlike who started it", "[base][thread]") {
  sigset_t blocked;
  sigemptyset(&blocked);
  std::string name;
  auto thread = start_thread("rankrun-test", [&] {
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    std::array<char, 16> text{};
    ::pthread_getname_np(::pthread_self(), text.data(), text.size());
    name = text.data();
  });
  REQUIRE(thread);
  thread->join();
  CHECK(name == "rankrun-test");
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGUSR1, SIGRTMAX}) {
    CHECK(sigismember(&blocked, signal) == 1);
  }
  sigset_t own;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &own);
  CHECK(sigismember(&own, SIGTERM) == 0);
}

}  // namespace
}  // namespace rankrun::base
