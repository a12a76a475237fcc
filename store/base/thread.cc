// SPDX-License-Identifier: Apache-2.0
#include "store/base/thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace rankrun::base {

namespace {

// Blocks every signal while it lives; a thread started meanwhile inherits that.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Result<std::jthread> start_thread(const char* name, std::function<void()> body) {
  const SignalsBlocked inherited_by_the_thread;
  try {
    return std::jthread([name, body = std::move(body)] {
      ::pthread_setname_np(::pthread_self(), name);
      body();
    });
  } catch (const std::system_error& refused) {
    return failure(refused.code(), {});
  }
}

}  // namespace rankrun::base
