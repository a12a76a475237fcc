// SPDX-License-Identifier: Apache-2.0
// A supervisor must get its turn when its workers have gone wild.
#pragma once

namespace rankrun::agent {

/// Has this thread scheduled soon when it wakes among many that run: by short turns, which need no
/// rights (Linux 6.12), and where we may by niceness. What it starts is scheduled as before. Does
/// nothing where somebody has chosen a policy or niceness for us.
void take_precedence();

}  // namespace rankrun::agent
