// SPDX-License-Identifier: Apache-2.0
// What a few clients can do to all others: the lateness of replies at a fixed rate, without and
// with clients that misbehave.
#pragma once

#include "apps/bench/options.h"
#include "apps/bench/parts.h"
#include "store/base/result.h"

namespace rankrun::bench {

base::Result<Rows> trouble_rows(const Bench& bench, const StoreOptions& options);

}  // namespace rankrun::bench
