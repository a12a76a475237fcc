// SPDX-License-Identifier: Apache-2.0
// Every option of rankrun, as data: parsing, the PET_* variables and --help come from this table.
#pragma once

#include <array>
#include <string_view>

namespace rankrun::launch {

enum class OptionKind {
  value,   ///< takes one value
  toggle,  ///< is there or not
};

struct Option {
  std::string_view name;  ///< long name with dashes; the one with underscores is an option too
  char letter;            ///< 0: no short form
  OptionKind kind;
  bool has_variable;  ///< PET_NAME sets it when the command line does not
  std::string_view value_name;
  std::string_view help;
};

inline constexpr auto kValue = OptionKind::value;
inline constexpr auto kToggle = OptionKind::toggle;

// clang-format off
inline constexpr std::array kOptions = {
    Option{"nnodes", 0, kValue, true, "N|MIN:MAX", "Number of nodes; so far 1."},
    Option{"nproc-per-node", 0, kValue, true, "N|auto|cpu|gpu",
           "Workers on this node; auto: one per GPU, without GPUs one per CPU. Default 1."},
    Option{"rdzv-backend", 0, kValue, true, "NAME",
           "static or c10d; on one node both are in this process. Default static."},
    Option{"rdzv-endpoint", 0, kValue, true, "HOST[:PORT]",
           "With static: where the workers' store listens."},
    Option{"rdzv-id", 0, kValue, true, "ID",
           "Id of the job. Default: random for a bare command, else none."},
    Option{"rdzv-conf", 0, kValue, true, "K=V,...",
           "Options of the rendezvous; its form is checked, of no effect on one node."},
    Option{"standalone", 0, kToggle, true, "",
           "One node, c10d, random id, free port; overrides the rendezvous options."},
    Option{"max-restarts", 0, kValue, true, "N",
           "How often all workers are started again after a failure. Default 0."},
    Option{"monitor-interval", 0, kValue, true, "SECONDS",
           "Accepted for torchrun's sake; the end of a worker is seen at once."},
    Option{"role", 0, kValue, true, "NAME", "Role of the workers, for ROLE_* variables. Default default."},
    Option{"module", 'm', kToggle, true, "", "Run the program as a Python module."},
    Option{"no-python", 0, kToggle, true, "", "Run the program directly, without a Python interpreter."},
    Option{"log-dir", 0, kValue, true, "DIR",
           "Where workers write error files. Default: a temporary one; /dev/null: none."},
    Option{"node-rank", 0, kValue, true, "N", "Rank of this node; on one node 0."},
    Option{"master-addr", 0, kValue, true, "ADDR",
           "Address of this host that the workers' store binds. Default 127.0.0.1."},
    Option{"master-port", 0, kValue, true, "PORT", "Port of the workers' store. Default: a free one."},
    Option{"local-addr", 0, kValue, true, "ADDR",
           "Address of this node; binds the workers' store when --master-addr is not given."},
    Option{"shutdown-timeout", 0, kValue, true, "SECONDS",
           "From the first signal that stops the workers to SIGKILL. Default 30."},
    Option{"legacy", 0, kToggle, false, "",
           "Serve PyTorch 1.13 and 2.0 also when the store is not on loopback."},
    Option{"help", 'h', kToggle, false, "", "Print this help."},
    Option{"version", 0, kToggle, false, "", "Print the version."},
};
// clang-format on

}  // namespace rankrun::launch
