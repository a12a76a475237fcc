// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/restart_budget.h"

#include <catch2/catch.hpp>

namespace rankrun::rendezvous {
namespace {

TEST_CASE("a budget gives exactly as many restarts as it has", "[rendezvous][budget]") {
  RestartBudget budget(2);
  CHECK(budget.used() == 0);
  CHECK(budget.take());
  CHECK(budget.take());
  CHECK(budget.used() == 2);
  CHECK_FALSE(budget.take());
  CHECK(budget.used() == 2);
}

TEST_CASE("an empty budget gives none", "[rendezvous][budget]") {
  RestartBudget budget(0);
  CHECK_FALSE(budget.take());
  CHECK(budget.used() == 0);
}

}  // namespace
}  // namespace rankrun::rendezvous
