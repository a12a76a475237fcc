// SPDX-License-Identifier: Apache-2.0
// Which launcher a run of the test binary is about, and the outcome of each case for
// deploy/dropin_table.py: a line in $RANKRUN_DROPIN_RESULTS/LAUNCHER.tsv.
#pragma once

#include <string>

namespace rankrun::tests {

/// Whether the run's name is torchrun: `dropin_test --name torchrun`.
bool is_about_torchrun();

/// Called when the case that runs has met what it should; `difference` says why torchrun does not
/// do what the case expects, when that was declared. A case that never calls it is not recorded,
/// unless it fails.
void note_outcome(const std::string& difference);

}  // namespace rankrun::tests
