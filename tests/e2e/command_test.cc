// SPDX-License-Identifier: Apache-2.0
// What is executed for a command line, and what rankrun says about itself.
#include "tests/support/rankrun_case.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace rankrun::tests {
namespace {

// A stand-in for Python that prints how it was called.
std::string write_interpreter(const RankrunCase& rankrun, const std::string& name) {
  return rankrun.write_program(name, R"(printf '%s\n' "$0" "$@")");
}

std::string called(const std::string& interpreter, const std::string& arguments) {
  return interpreter + "\n" + arguments;
}

constexpr std::array kOptions = {"--nnodes",           "--nproc-per-node", "--max-restarts",
                                 "--monitor-interval", "--standalone",     "--module",
                                 "--no-python",        "--role",           "--rdzv-id",
                                 "--rdzv-backend",     "--rdzv-conf",      "--rdzv-endpoint",
                                 "--node-rank",        "--master-addr",    "--master-port",
                                 "--local-addr",       "--log-dir",        "--shutdown-timeout",
                                 "--legacy",           "--help",           "--version"};

// Lines of the help that start with the option, behind its short form.
std::ptrdiff_t lines_about(const std::string& option, std::string_view help) {
  constexpr std::size_t kColumn = 6;
  const std::vector<std::string> lines = lines_of(help);
  return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(option) == kColumn &&
           line.find_first_of("= ", kColumn) == kColumn + option.size();
  });
}

}  // namespace

TEST_CASE("a script is run by the interpreter, unbuffered", "[e2e][command]") {
  RankrunCase rankrun;
  const std::string python = write_interpreter(rankrun, "my python");
  rankrun.set("PYTHON_EXEC", python);
  rankrun.write("train.py", "");
  const RunResult result = rankrun.run({"train.py", "--lr", "0.1"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == called(python, "-u\ntrain.py\n--lr\n0.1\n"));
}

TEST_CASE("a dash stands for a script on stdin", "[e2e][command]") {
  RankrunCase rankrun;
  const std::string python = write_interpreter(rankrun, "python3");
  rankrun.set("PYTHON_EXEC", python);
  CHECK(rankrun.run({"-", "--lr"}).out == called(python, "-u\n-\n--lr\n"));
}

TEST_CASE("a module is run by its name", "[e2e][command]") {
  RankrunCase rankrun;
  const std::string python = write_interpreter(rankrun, "python3");
  rankrun.set("PYTHON_EXEC", python);
  const std::string option = GENERATE("-m", "--module");
  const RunResult result = rankrun.run({option, "package.train", "-m"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == called(python, "-u\n-m\npackage.train\n-m\n"));
}

TEST_CASE("the interpreter is PYTHON_EXEC, else the virtual environment's, else the first of PATH",
          "[e2e][command]") {
  RankrunCase rankrun;
  rankrun.write("train.py", "");
  const auto interpreter = [&] { return lines_of(rankrun.run({"train.py"}).out).at(0); };

  const std::string folder = rankrun.folder();
  rankrun.set("PATH", folder + "/one:" + folder + "/two:/usr/bin:/bin");
  const std::string plain = write_interpreter(rankrun, "one/python");
  const std::string version_3 = write_interpreter(rankrun, "two/python3");
  CHECK(interpreter() == version_3);  // python3 of any folder goes before python

  rankrun.set("VIRTUAL_ENV", folder + "/venv");
  CHECK(interpreter() == version_3);  // the environment has no interpreter
  const std::string venv = write_interpreter(rankrun, "venv/bin/python3");
  CHECK(interpreter() == venv);

  const std::string chosen = write_interpreter(rankrun, "chosen");
  rankrun.set("PYTHON_EXEC", chosen);
  CHECK(interpreter() == chosen);
  rankrun.set("PYTHON_EXEC", "python");  // searched in PATH too
  CHECK(interpreter() == plain);
}

TEST_CASE("a program is run directly and searched in PATH", "[e2e][command]") {
  RankrunCase rankrun;
  rankrun.write_program("bin/train", "echo trained by \"$@\"");
  rankrun.set("PATH", rankrun.folder().string() + "/bin:/usr/bin:/bin");
  const std::string program = GENERATE("train", "./bin/train");
  const RunResult result = rankrun.run({"--no_python", program, "rankrun"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == "trained by rankrun\n");
}

TEST_CASE("nothing after the program is read as an option", "[e2e][command]") {
  RankrunCase rankrun;
  const RunResult result = rankrun.run({"--no-python",
                                        "--",
                                        "printf",
                                        "[%s]",
                                        "--nproc-per-node=2",
                                        "--help",
                                        "-m",
                                        "--d",
                                        "",
                                        "--",
                                        "two words"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == "[--nproc-per-node=2][--help][-m][--d][][--][two words]");
}

TEST_CASE("arguments name the local rank, and a doubled dollar is one", "[e2e][command]") {
  RankrunCase rankrun;
  rankrun.write_program("worker", R"(printf '%s\n' "$@" >"arguments.$RANK")");
  CHECK_THAT(rankrun.run({"--nproc-per-node=2",
                          "--no-python",
                          "./worker",
                          "out.${local_rank}",
                          "$local_rank",
                          "$$",
                          "$HOME",
                          "${rank}"}),
             ExitsWith(0));
  CHECK(rankrun.read("arguments.0") == "out.0\n0\n$\n$HOME\n${rank}\n");
  CHECK(rankrun.read("arguments.1") == "out.1\n1\n$\n$HOME\n${rank}\n");
}

TEST_CASE("thousands of arguments and a megabyte of environment reach the program",
          "[e2e][command]") {
  RankrunCase rankrun;
  constexpr int kArguments = 10'000;
  constexpr int kVariables = 10;  // of 100 KiB: a single one may not hold 128 KiB
  const std::string value(100 << 10, 'v');
  for (int i = 0; i < kVariables; ++i) {
    rankrun.set("LARGE_" + std::to_string(i), value);
  }
  std::vector<std::string> arguments{"--no-python", "sh", "-c", R"(echo $# ${#LARGE_9})", "sh"};
  arguments.resize(arguments.size() + kArguments, "argument");
  const RunResult result = rankrun.run(arguments);
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == "10000 102400\n");
}

TEST_CASE("a command that is too long for the system is refused in one line", "[e2e][command]") {
  RankrunCase rankrun;
  // rankrun itself fits below the limit of 2 MiB; its workers have the role twice.
  const std::string value(100 << 10, 'v');
  for (int i = 0; i < 19; ++i) {
    rankrun.set("LARGE_" + std::to_string(i), value);
  }
  rankrun.set("PET_ROLE", value);
  const RunResult result = rankrun.run({"--no-python", "sh", "-c", "touch started"});
  CHECK_THAT(result, ExitsWith(1));
  CHECK_THAT(
      result.err,
      Catch::Contains("cannot start '/usr/bin/sh'") || Catch::Contains("cannot start '/bin/sh'"));
  CHECK_FALSE(rankrun.exists("started"));
}

TEST_CASE("a working directory that was deleted stops no program that needs none",
          "[e2e][command]") {
  RankrunCase rankrun;
  std::filesystem::create_directory(rankrun.folder() / "gone");
  rankrun.before_exec([] {
    if (::chdir("gone") == 0) ::rmdir("../gone");
  });
  SECTION("it runs") {
    const RunResult result =
        rankrun.run({"--nproc-per-node=2", "--no-python", "sh", "-c", "echo $LOCAL_RANK >&2"});
    CHECK_THAT(result, ExitsWith(0));
    CHECK_THAT(result.err, Catch::Contains("0\n") && Catch::Contains("1\n"));
  }
  SECTION("a script in it is missing") {
    CHECK_THAT(rankrun.run({"train.py"}), ExitsWith(127));
  }
  SECTION("a log directory in it cannot be made") {
    const RunResult result = rankrun.run({"--log-dir=logs", "--no-python", "true"});
    CHECK_THAT(result, ExitsWith(1));
    CHECK_THAT(result.err, Catch::Contains("cannot create log directory 'logs'"));
  }
}

TEST_CASE("help has one line for every option", "[e2e][command]") {
  RankrunCase rankrun;
  const RunResult result = rankrun.run({"--help"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.err.empty());
  for (const std::string option : kOptions) {
    INFO(option);
    CHECK(lines_about(option, result.out) == 1);
  }
}

TEST_CASE("the arguments of torch.distributed.launch work as there", "[e2e][command]") {
  RankrunCase rankrun;
  rankrun.write_program("worker", R"(printf '%s\n' "$@" >"arguments.$RANK")");
  std::vector<std::string> arguments{"--torch-launch", "--nproc_per_node=2"};
  const bool by_environment = GENERATE(false, true);
  if (by_environment) arguments.emplace_back("--use_env");
  arguments.insert(arguments.end(), {"--no_python", "./worker", "--lr", "1"});
  CHECK_THAT(rankrun.run(arguments), ExitsWith(0));
  for (const std::string rank : {"0", "1"}) {
    const std::string injected = by_environment ? "" : "--local-rank=" + rank + "\n";
    CHECK(rankrun.read("arguments." + rank) == injected + "--lr\n1\n");
  }
}

TEST_CASE("the version is the project's", "[e2e][command]") {
  RankrunCase rankrun;
  const RunResult result = rankrun.run({"--version"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == "rankrun " RANKRUN_VERSION "\n");
  CHECK(result.err.empty());
}

}  // namespace rankrun::tests
