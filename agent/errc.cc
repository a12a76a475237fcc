// SPDX-License-Identifier: Apache-2.0
#include "agent/errc.h"

#include <string>

namespace rankrun::agent {
namespace {

class AgentCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "agent"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::program_not_found:
        return "not found";
      case errc::program_not_executable:
        return "cannot be executed";
      case errc::workers_stuck:
        return "still there after SIGKILL";
    }
    return "unknown error";
  }
};

}  // namespace

const std::error_category& agent_category() {
  static const AgentCategory category;
  return category;
}

std::error_code make_error_code(errc code) {
  return {static_cast<int>(code), agent_category()};
}

}  // namespace rankrun::agent
