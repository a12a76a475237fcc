// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/option_table.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace rankrun::launch {
namespace {

using enum OptionKind;
using enum OptionState;

constexpr bool kVariable = true;
constexpr bool kNoVariable = false;

// clang-format off
constexpr std::array kOptions = {
    Option{"nnodes", 0, text, one_node, kVariable, "N|MIN:MAX",
           "Number of nodes, or its range. Default 1.",
           "More than one node is refused until several nodes exist."},
    Option{"nproc-per-node", 0, text, works, kVariable, "N|auto|cpu|gpu",
           "Workers on this node. cpu: one per usable core; gpu: one per visible GPU; auto: gpu where "
           "there is one, else cpu. Default 1.",
           "Cores are counted by the cgroup quota, too, and how a number was found is printed; xpu and other "
           "devices are refused, since rankrun counts no others than NVIDIA's."},
    Option{"rdzv-backend", 0, text, works, kVariable, "c10d|static",
           "How the nodes of the job find each other. Default static.",
           "etcd, etcd-v2 and plug-ins are refused; one node needs no service to meet."},
    Option{"rdzv-endpoint", 0, text, works, kVariable, "HOST[:PORT]",
           "With static: where the workers' store listens.",
           "With c10d its form is checked, but nothing listens there: one node needs no meeting place."},
    Option{"rdzv-id", 0, text, works, kVariable, "ID",
           "Id of the job. Default: random for a bare command, else none.",
           "A given id is kept on a bare single-node run, where torchrun overwrites it."},
    Option{"rdzv-conf", 0, text, no_effect, kVariable, "KEY=VALUE,...",
           "Options of the rendezvous.",
           "Its form and the values of known keys are checked; on one node there is nothing to tune. "
           "store_type=file is refused: rankrun serves its store over TCP."},
    Option{"standalone", 0, toggle, works, kVariable, "",
           "One node, c10d, random id, free port; overrides the rendezvous options.", ""},
    Option{"max-restarts", 0, integer, works, kVariable, "N",
           "How often all workers are started again after a failure. Default 0.", ""},
    Option{"monitor-interval", 0, number, no_effect, kVariable, "SECONDS",
           "Accepted for torchrun's sake.",
           "Nothing is polled: the end of a worker is seen at once."},
    Option{"start-method", 0, choice, no_effect, kVariable, "spawn|fork|forkserver",
           "Accepted for torchrun's sake.",
           "Every worker is a program of its own, with --run-path, too."},
    Option{"event-log-handler", 0, text, works, kVariable, "console|null|dynamic_rendezvous",
           "Where torchrun's events go: console is JSON lines on stderr, the others are nowhere. "
           "Default null.",
           "Other names are refused: handlers are registered in Python, which rankrun does not run; "
           "--events writes every state change to a file."},
    Option{"role", 0, text, works, kVariable, "NAME",
           "Role of the workers, for prefixes and ROLE_* variables. Default default.", ""},
    Option{"module", 'm', toggle, works, kVariable, "",
           "Run the program as a Python module.", ""},
    Option{"no-python", 0, toggle, works, kVariable, "",
           "Run the program directly, without a Python interpreter.", ""},
    Option{"run-path", 0, toggle, works, kVariable, "",
           "Run the program as a Python script; wins over --no-python and --module.",
           "The script gets an interpreter of its own; rankrun has none to fork."},
    Option{"log-dir", 0, text, works, kVariable, "DIR",
           "Base of the log directory. Default: a temporary one; /dev/null: none.",
           "Folders of earlier attempts are kept; a temporary directory is removed after success."},
    Option{"redirects", 'r', text, works, kVariable, "0|1|2|3|RANK:N,...",
           "Write output of workers to log files only. 1: stdout, 2: stderr, 3: both; for every worker "
           "or by local rank, as 0:1,12:3. Default 0.",
           "Local ranks may have more than one digit."},
    Option{"tee", 't', text, works, kVariable, "0|1|2|3|RANK:N,...",
           "Write output of workers to log files and, with a prefix, to the console. "
           "Values as of --redirects. Default 0.",
           "Local ranks may have more than one digit."},
    Option{"log-line-prefix-template", 0, text, works, kVariable, "TEMPLATE",
           "Prefix of a line in the console, with ${role_name}, ${local_rank}, ${rank} and ${hostname}. "
           "Default [${role_name}${local_rank}]:.", ""},
    Option{"local-ranks-filter", 0, text, works, kVariable, "RANK,...",
           "The only local ranks whose output reaches the console. Default: all.", ""},
    Option{"duplicate-stdout-filters", 0, text, works, kVariable, "TEXT,...",
           "Lines of tee'd stdout that hold one of these texts go to filtered_stdout.log, too; "
           "two commas are a comma in a text.", ""},
    Option{"duplicate-stderr-filters", 0, text, works, kVariable, "TEXT,...",
           "The same for stderr and filtered_stderr.log.", ""},
    Option{"node-rank", 0, integer, one_node, kVariable, "N",
           "Rank of this node, with static. Default 0.",
           "Other ranks than 0 are refused with static until several nodes exist; "
           "as in torchrun, c10d warns and ignores them."},
    Option{"master-addr", 0, text, works, kVariable, "ADDR",
           "Address of this host that the workers' store binds. Default 127.0.0.1.",
           "Heeded with c10d, too: it is where workers find their store."},
    Option{"master-port", 0, integer, works, kVariable, "PORT",
           "Port of the workers' store. Default: a free one.",
           "The default is a port that the store itself binds, not 29500, so that jobs do not collide; "
           "heeded with c10d, too."},
    Option{"local-addr", 0, text, works, kVariable, "ADDR",
           "Address of this node; binds the workers' store when --master-addr is not given.",
           "The default is 127.0.0.1 on one node: no name needs to be looked up."},
    Option{"logs-specs", 0, text, refused, kNoVariable, "NAME",
           "Refused; use --redirects, --tee and --log-dir.",
           "It names a Python plug-in, and rankrun does not run Python."},
    Option{"numa-binding", 0, choice, works, kNoVariable, "node|socket|exclusive|core-complex",
           "Bind every worker to the CPUs and the memory near its GPU.",
           "Memory is bound, too; works without GPUs and without numactl."},
    Option{"signals-to-handle", 0, text, works, kVariable, "NAME,...",
           "Signals that are passed on to the workers; TERM, INT, HUP and QUIT also stop the job. "
           "Default SIGTERM,SIGINT,SIGHUP,SIGQUIT.",
           "Other signals do not end the job, so that SIGUSR1 can ask for a checkpoint; unknown "
           "names are refused, where torchrun warns."},
    Option{"shutdown-timeout", 0, integer, works, kVariable, "SECONDS",
           "From the first signal that stops the workers to SIGKILL. Default 30.",
           "Holds for every stop; torchrun takes 30 s after a failure, whatever is set."},
    Option{"virtual-local-rank", 0, toggle, works, kVariable, "",
           "Every worker has LOCAL_RANK 0 and sees one GPU only.",
           "Too few devices in CUDA_VISIBLE_DEVICES are refused before anything starts."},
    Option{"print-completion", 0, choice, works, kNoVariable, "bash|zsh",
           "Print the completion script of a shell.",
           "Needs no Python package; tcsh is refused."},
    Option{"help", 'h', request, works, kNoVariable, "",
           "Print this help.", ""},

    Option{"threads", 0, text, ours, kVariable, "N|auto",
           "OMP_NUM_THREADS of every worker; auto: usable cores divided by workers. "
           "Default: as set, else 1 when there are several workers.", ""},
    Option{"stdin-rank", 0, integer, ours, kVariable, "N",
           "The local rank that reads stdin; on a terminal with job control, so that pdb works.", ""},
    Option{"on-term", 0, choice, ours, kVariable, "stop|notify",
           "What SIGTERM does. stop: ends the job; notify: workers get it and end when they want to. "
           "Default stop.", ""},
    Option{"exit-code", 0, choice, ours, kVariable, "worker|torchrun",
           "Exit code of a failure. worker: that of the first failing worker; torchrun: always 1. "
           "Default worker.", ""},
    Option{"hang-timeout", 0, number, ours, kVariable, "SECONDS",
           "Take workers that make no progress for so long for hung: show what they do, then stop them "
           "as after a failure. Default 0: never.", ""},
    Option{"restart-delay", 0, number, ours, kVariable, "SECONDS",
           "Wait before a restart; twice as long after each further attempt in a row that is shorter "
           "than 10 times this, up to 16 times. Default 0.", ""},
    Option{"max-same-failure", 0, integer, ours, kVariable, "N",
           "Stop when the same failure ends N attempts in a row, each within 10 s of its start. "
           "Default 0: never.", ""},
    Option{"fold", 0, toggle, ours, kVariable, "",
           "Show equal lines of many ranks once.", ""},
    Option{"cgroup", 0, choice, ours, kVariable, "auto|required|off",
           "Whether the workers of an attempt are held together by a cgroup (version 2), so that nothing "
           "they start can stay behind. auto: where one may be made. Default auto.", ""},
    Option{"memory-max", 0, text, ours, kVariable, "BYTES[K|M|G|T]",
           "Memory limit of each worker and all that it starts, by cgroups; refused where they do not "
           "allow it. Default: none.", ""},
    Option{"report", 0, text, ours, kVariable, "FILE",
           "Write the failure report as JSON.", ""},
    Option{"events", 0, text, ours, kVariable, "FILE|-",
           "Write every state change as a JSON line; - is stdout.", ""},
    Option{"torch-launch", 0, toggle, ours, kVariable, "",
           "Take the arguments of python -m torch.distributed.launch: --local-rank=N goes in front of "
           "the program's arguments, unless --use-env is given.", ""},
    Option{"use-env", 0, toggle, ours, kVariable, "",
           "With --torch-launch: leave the program's arguments alone.", ""},
    Option{"legacy", 0, toggle, ours, kVariable, "",
           "Serve PyTorch 1.13 to 2.1 also when the store is not on loopback.", ""},
    Option{"print-man", 0, request, ours, kNoVariable, "",
           "Print the manual page, for man -l.", ""},
    Option{"version", 0, request, ours, kNoVariable, "",
           "Print the version.", ""},
};
// clang-format on

std::string with_underscores(std::string_view name) {
  std::string spelling(name);
  std::replace(spelling.begin(), spelling.end(), '-', '_');
  return spelling;
}

bool has_capital(std::string_view word) {
  return std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c); });
}

}  // namespace

std::span<const Option> option_table() {
  return kOptions;
}

bool takes_value(const Option& option) {
  return option.kind != toggle && option.kind != request;
}

std::vector<std::string_view> literal_words(const Option& option) {
  std::vector<std::string_view> words;
  std::string_view rest = option.value_name;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('|'));
    if (!has_capital(word)) words.push_back(word);
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return words;
}

std::vector<std::string> long_spellings(const Option& option) {
  std::vector<std::string> spellings = {"--" + std::string(option.name)};
  if (option.name.find('-') != std::string_view::npos) {
    spellings.push_back("--" + with_underscores(option.name));
  }
  return spellings;
}

std::string variable_name(std::string_view option) {
  std::string name = "PET_" + with_underscores(option);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::toupper(c));
  });
  return name;
}

std::string_view to_string(OptionState state) {
  switch (state) {
    case works:
      return "works";
    case no_effect:
      return "accepted, no effect";
    case one_node:
      return "one node only";
    case refused:
      return "refused";
    case ours:
      return "ours";
  }
  return "";
}

}  // namespace rankrun::launch
