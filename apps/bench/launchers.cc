// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/launchers.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace rankrun::bench {

using base::failure;
using base::Result;
namespace fs = std::filesystem;

namespace {

constexpr base::Duration kVersionLimit = std::chrono::seconds(30);  // Python on a cold disk

Result<Launcher> with_version(std::string name,
                              std::string path,
                              const Workplace& place,
                              std::vector<std::string> words) {
  const auto text = output_of(place.command(std::move(words)), kVersionLimit);
  if (!text) return failure(text.error().within("the version of " + name));
  return Launcher{std::move(name), text->substr(0, text->find('\n')), std::move(path)};
}

Result<std::string> default_rankrun() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  // As installed, and as built.
  for (const fs::path& path : {here / "rankrun", here.parent_path() / "launch" / "rankrun"}) {
    if (fs::is_regular_file(path, error)) return path.string();
  }
  return failure({}, "no rankrun beside " + here.string(), "build it, or name one by --rankrun");
}

Result<Launcher> find_rankrun(const CommonOptions& options, const Workplace& place) {
  Result<std::string> path = options.rankrun ? *options.rankrun : default_rankrun();
  if (!path) return failure(std::move(path.error()));
  return with_version("rankrun", *path, place, {*path, "--version"});
}

// torchrun has no --version; the interpreter beside it knows.
Result<Launcher> find_torchrun(const std::string& path, const Workplace& place) {
  const std::string python = fs::path(path).parent_path() / "python";
  const char* const script = "import importlib.metadata as m; print('torch', m.version('torch'))";
  return with_version("torchrun", path, place, {python, "-c", script});
}

}  // namespace

Result<Launchers> find_launchers(const CommonOptions& options, const Workplace& place) {
  auto rankrun = find_rankrun(options, place);
  if (!rankrun) return failure(std::move(rankrun.error()));
  Launchers launchers{.rankrun = std::move(*rankrun), .torchrun = {}};
  std::error_code ignored;
  if (!options.torchrun && !fs::exists(options.default_torchrun, ignored)) return launchers;
  auto torchrun = find_torchrun(options.torchrun.value_or(options.default_torchrun), place);
  if (!torchrun) return failure(std::move(torchrun.error()));
  launchers.torchrun = std::move(*torchrun);
  return launchers;
}

}  // namespace rankrun::bench
