// SPDX-License-Identifier: Apache-2.0
// Where measured programs run, and what makes sure that nothing of them is left.
#pragma once

#include "apps/bench/program.h"
#include "store/base/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace rankrun::bench {

/// A temporary folder as TMPDIR (torchrun never removes what it makes there) and the adoption of
/// orphans (of a launcher that had to be killed). The destructor removes the folder and kills the
/// orphans, so it outlives every Program that was started in it.
class Workplace {
 public:
  /// Makes the folder; `environment` is the one to start from.
  static base::Result<Workplace> open(std::vector<std::string> environment);

  Workplace(Workplace&& other) noexcept;
  Workplace& operator=(Workplace&&) = delete;
  ~Workplace();

  const std::filesystem::path& folder() const { return folder_; }
  Command command(std::vector<std::string> words) const;

 private:
  Workplace(std::filesystem::path folder, std::vector<std::string> environment);

  std::filesystem::path folder_;  // empty when moved from
  std::vector<std::string> environment_;
};

}  // namespace rankrun::bench
