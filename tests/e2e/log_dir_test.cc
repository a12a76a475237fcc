// SPDX-License-Identifier: Apache-2.0
// --log-dir and the temporary folder without it (torchrun.md 3.2). That the temporary one is gone
// after success is checked by the fixture, in every case.
#include "tests/support/rankrun_case.h"

namespace rankrun::tests {

using Catch::Contains;
using Catch::Matches;

namespace {

// Both ranks write an error file in each of two attempts; the first attempt fails.
constexpr auto kFailOnce = R"(
echo '{"message": "out of memory"}' >"$TORCHELASTIC_ERROR_FILE"
echo "$TORCHELASTIC_ERROR_FILE" >>"error_files.$RANK"
until [ -e error_files.0 ] && [ -e error_files.1 ]; do sleep 0.02; done
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ])";

}  // namespace

TEST_CASE("the log directory has a folder per run, attempt and local rank", "[e2e][log_dir]") {
  RankrunCase rankrun;
  rankrun.write_worker(kFailOnce);
  // Missing folders are made; a relative path is the same for a worker that changes its directory.
  CHECK_THAT(rankrun.run({"--nproc-per-node=2",
                          "--max-restarts=1",
                          "--rdzv-id=job/7",
                          "--log-dir=new/logs",
                          "--no-python",
                          "./worker"}),
             ExitsWith(0));
  const auto error_file = [&](const std::string& attempt, const std::string& rank) {
    return Matches(rankrun.folder().string() + "/new/logs/job_7_[A-Za-z0-9]{6}/" + attempt + "/" +
                   rank + "/error.json");
  };
  for (const std::string rank : {"0", "1"}) {
    INFO("local rank " << rank);
    const std::vector<std::string> files = lines_of(rankrun.read("error_files." + rank));
    REQUIRE(files.size() == 2);
    CHECK_THAT(files[0], error_file("attempt_0", rank));
    CHECK_THAT(files[1], error_file("attempt_1", rank));
    for (const std::string& file : files) {
      CHECK(std::filesystem::exists(file));  // no attempt removes the files of another
    }
  }
}

TEST_CASE("the folder of a run is the user's alone", "[e2e][log_dir]") {
  RankrunCase rankrun;
  CHECK_THAT(rankrun.run({"--log-dir=logs", "--no-python", "true"}), ExitsWith(0));
  for (const auto& run : std::filesystem::directory_iterator(rankrun.folder() / "logs")) {
    CHECK((run.status().permissions() & std::filesystem::perms(077)) ==
          std::filesystem::perms::none);
  }
}

TEST_CASE("without a log directory error files of a failed job are kept and named",
          "[e2e][log_dir]") {
  RankrunCase rankrun;
  rankrun.write_worker(R"(echo '{"message": "out of memory"}' >"$TORCHELASTIC_ERROR_FILE"
echo "$TORCHELASTIC_ERROR_FILE" >error_file
exit 1)");
  const RunResult result = rankrun.run({"--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(1));
  const std::string file = lines_of(rankrun.read("error_file")).at(0);
  CHECK_THAT(file, Catch::StartsWith(rankrun.temp_folder().string() + "/"));
  CHECK_THAT(result.err, Contains("error_file: " + file));
  CHECK(std::filesystem::exists(file));

  const std::string kept = std::filesystem::path(file).parent_path();
  CHECK_THAT(result.err, Contains("are kept in " + kept + "\n"));
  rankrun.empty_temp_folder();
}

TEST_CASE("a failed job without error files leaves no folder", "[e2e][log_dir]") {
  RankrunCase rankrun;
  CHECK_THAT(rankrun.run({"--nproc-per-node=2", "--max-restarts=1", "--no-python", "false"}),
             ExitsWith(1));
  CHECK(std::filesystem::is_empty(rankrun.temp_folder()));
}

TEST_CASE("with the null device as log directory there is no error file", "[e2e][log_dir]") {
  RankrunCase rankrun;
  rankrun.write_worker(R"(printf '%s' "[${TORCHELASTIC_ERROR_FILE-unset}]"
set -- "$TMPDIR"/*; printf '%s' "$1")");
  const RunResult result = rankrun.run({"--log-dir=/dev/null", "--no-python", "./worker"});
  CHECK_THAT(result, ExitsWith(0));
  CHECK(result.out == "[]" + rankrun.temp_folder().string() + "/*");  // the folder is empty
}

}  // namespace rankrun::tests
