// SPDX-License-Identifier: Apache-2.0
// What is executed for a command line (torchrun.md 3.1).
#include "tests/dropin/drop_in.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rankrun::tests {
namespace {

constexpr auto kPrintArguments = R"(printf '[%s]' "$@")";

// A stand-in for Python that prints how it was called.
void use_interpreter(DropIn& job) {
  job.set("PYTHON_EXEC", job.write_program("interpreter", kPrintArguments));
  job.write("train.py", "");
}

// Makes the launcher that of `python -m torch.distributed.launch`.
void use_old_launch(DropIn& job) {
  Launcher launcher = job.launcher();
  if (job.is_torchrun()) {
    launcher.program = std::filesystem::path(launcher.program).parent_path() / "python";
    launcher.arguments = {"-m", "torch.distributed.launch"};
  } else {
    launcher.arguments = {"--torch-launch"};
  }
  job.launch_with(launcher);
}

}  // namespace

RANKRUN_DROP_IN_CASE("a Python script is run by PYTHON_EXEC, unbuffered, with its arguments") {
  use_interpreter(job);
  const RunResult result = job.run({"train.py", "--lr", "0.1"});
  job.expect_exit(result, 0);
  job.expect_equal("the arguments", result.out, "[-u][train.py][--lr][0.1]");
}

RANKRUN_DROP_IN_CASE("a Python module is run by its name") {
  use_interpreter(job);
  const RunResult result = job.run({"-m", "package.train", "-m", "--module"});
  job.expect_exit(result, 0);
  job.expect_equal("the arguments", result.out, "[-u][-m][package.train][-m][--module]");
}

RANKRUN_DROP_IN_CASE("a shell script is run when PYTHON_EXEC is a shell") {
  job.set("PYTHON_EXEC", "/bin/sh");
  job.write("train.sh", R"(echo "$RANK of $WORLD_SIZE" >"rank.$RANK")");
  job.expect_exit(job.run({"--nproc-per-node=2", "train.sh"}), 0);
  job.expect_equal("rank 0", job.read("rank.0"), "0 of 2\n");
  job.expect_equal("rank 1", job.read("rank.1"), "1 of 2\n");
}

RANKRUN_DROP_IN_CASE("with --run-path a Python script still runs as the main program") {
  job.write("train.py",
            "import os, sys\n"
            "if __name__ == '__main__':\n"
            "    open('rank.' + os.environ['RANK'], 'w').write(' '.join(sys.argv))\n");
  job.expect_exit(job.run({"--run-path", "train.py", "--lr", "0.1"}), 0);
  job.expect_equal("the arguments", job.read("rank.0"), "train.py --lr 0.1");
}

RANKRUN_DROP_IN_CASE("a program is run directly with --no-python, and found in PATH") {
  job.write_program("bin/train", kPrintArguments);
  job.set("PATH", job.folder().string() + "/bin:/usr/bin:/bin");
  const RunResult result = job.run({"--no-python", "train", "x"});
  job.expect_exit(result, 0);
  job.expect_equal("the arguments", result.out, "[x]");
}

RANKRUN_DROP_IN_CASE("a program's arguments name the local rank, and a doubled dollar is one") {
  job.write_program("worker", R"(printf '[%s]' "$@" >"arguments.$RANK")");
  job.expect_exit(job.run({"--nproc-per-node=2",
                           "--no-python",
                           "./worker",
                           "out.${local_rank}",
                           "$local_rank",
                           "$$",
                           "$HOME",
                           "${rank}"}),
                  0);
  job.expect_equal("rank 0", job.read("arguments.0"), "[out.0][0][$][$HOME][${rank}]");
  job.expect_equal("rank 1", job.read("arguments.1"), "[out.1][1][$][$HOME][${rank}]");
}

RANKRUN_DROP_IN_CASE("arguments that are empty or not UTF-8 arrive as they are") {
  job.write_program("worker", R"(printf '[%s]' "$@" "$ROLE_NAME")");
  const RunResult result = job.run({"--role=\xff", "--no-python", "./worker", "", "\xfe\x80", "é"});
  job.expect_exit(result, 0);
  job.expect_equal("the arguments and the role", result.out, "[][\xfe\x80][é][\xff]");
}

RANKRUN_DROP_IN_CASE("ten thousand arguments and a megabyte of variables reach the worker") {
  for (int i = 0; i < 10; ++i) {
    job.set("LARGE_" + std::to_string(i), std::string(100'000, 'x'));
  }
  job.write_program("worker", R"(echo "$# ${#LARGE_0} ${#LARGE_9}")");
  std::vector<std::string> arguments{"--no-python", "./worker"};
  arguments.resize(arguments.size() + 10'000, "argument");
  const RunResult result = job.run(arguments);
  job.expect_exit(result, 0);
  job.expect_equal("what arrives", result.out, "10000 100000 100000\n");
}

RANKRUN_DROP_IN_CASE("workers have the launcher's stdin and working directory") {
  job.write("input", "typed\n");
  job.before_exec([] { ::dup2(::open("input", O_RDONLY | O_CLOEXEC), STDIN_FILENO); });
  const RunResult result = job.run({"--no-python", "sh", "-c", "cat; pwd -P"});
  job.expect_exit(result, 0);
  job.expect_equal("stdin and folder", result.out, "typed\n" + job.folder().string() + "\n");
}

RANKRUN_DROP_IN_CASE("closed standard descriptors do no harm") {
  job.before_exec([] {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      ::close(fd);
    }
  });
  job.expect_exit(job.run_worker(R"(touch "ran.$RANK")", {"--nproc-per-node=2"}), 0);
  job.expect(job.exists("ran.0") && job.exists("ran.1"), "both workers run");
}

RANKRUN_DROP_IN_CASE("a deleted working directory does no harm") {
  job.torchrun_differs("PyTorch cannot be loaded there", {"exit code", "the worker runs"});
  job.before_exec([] {
    static_cast<void>(::mkdir("gone", 0755));
    static_cast<void>(::chdir("gone"));
    ::rmdir("../gone");
  });
  const RunResult result = job.run({"--no-python", "/bin/echo", "here"});
  job.expect_exit(result, 0);
  job.expect_equal("the worker runs", result.out, "here\n");
}

RANKRUN_DROP_IN_CASE("a missing Python script is refused before an interpreter starts") {
  job.torchrun_differs("the interpreter finds out, in every worker; always exits with 1",
                       {"exit code", "nothing starts"});
  job.set("PYTHON_EXEC", job.write_program("interpreter", "touch started; exec cat \"$2\""));
  const RunResult result = job.run({"missing.py"});
  job.expect_exit(result, 127);
  job.expect_contains("stderr names the script", result.err, "missing.py");
  job.expect(!job.exists("started"), "nothing starts");
}

RANKRUN_DROP_IN_CASE("a program that cannot be run is refused with a shell's exit code") {
  job.torchrun_differs("a traceback; always exits with 1", {"exit code", "one line on stderr"});
  job.write("no_program", "");
  const auto [program, code] = GENERATE(table<std::string, int>(
      {{"./missing", 127}, {"./no_program", 126}, {"./tmp", 126}}));  // the last one is a folder
  const RunResult result = job.run({"--no-python", program});
  job.expect_exit(result, code);
  job.expect_contains("stderr names the program", result.err, program);
  job.expect_equal(
      "one line on stderr", std::to_string(lines_of(result.err).size()) + " lines", "1 lines");
}

RANKRUN_DROP_IN_CASE("the launcher works under the name torchrun") {
  Launcher launcher = job.launcher();
  const auto link = job.folder() / "bin" / "torchrun";
  std::filesystem::create_directory(link.parent_path());
  std::filesystem::create_symlink(launcher.program, link);
  launcher.program = link;
  job.launch_with(launcher);
  const RunResult result = job.run_worker("echo \"$RANK\"", {"--standalone"});
  job.expect_exit(result, 0);
  job.expect_equal("the worker runs", result.out, "0\n");
}

RANKRUN_DROP_IN_CASE("python -m torch.distributed.launch gives the script its local rank") {
  use_interpreter(job);
  use_old_launch(job);
  const RunResult result = job.run({"--nproc_per_node=1", "train.py", "--lr"});
  job.expect_exit(result, 0);
  job.expect_equal("the arguments", result.out, "[-u][train.py][--local-rank=0][--lr]");
}

RANKRUN_DROP_IN_CASE("python -m torch.distributed.launch --use-env leaves the arguments alone") {
  use_interpreter(job);
  use_old_launch(job);
  const RunResult result = job.run({"--use-env", "train.py", "--lr"});
  job.expect_exit(result, 0);
  job.expect_equal("the arguments", result.out, "[-u][train.py][--lr]");
}

}  // namespace rankrun::tests
