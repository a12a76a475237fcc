// SPDX-License-Identifier: Apache-2.0
// Pure: the one budget of failure restarts that the whole job shares.
#pragma once

namespace rankrun::rendezvous {

class RestartBudget {
 public:
  explicit RestartBudget(int max_restarts) : max_restarts_(max_restarts) {}

  /// Takes one restart; false, and nothing changes, when none is left.
  bool take() {
    if (used_ >= max_restarts_) return false;
    ++used_;
    return true;
  }

  int used() const { return used_; }

 private:
  int max_restarts_;
  int used_ = 0;
};

}  // namespace rankrun::rendezvous
