// SPDX-License-Identifier: Apache-2.0
#include "agent/worker_command.h"

#include "agent/errc.h"
#include "agent/text_template.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace rankrun::agent {

using base::failure;
using base::Result;

namespace {

enum class Access { execute = X_OK, read = R_OK };

// Success, or why `path` cannot be used in this way.
Result<void> check_file(const std::string& path, Access access) {
  const std::string tried = "'" + path + "'";
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return failure(errc::program_not_found, tried, "check the path");
    }
    return failure(errc::program_not_executable,
                   tried,
                   std::error_code(errno, std::generic_category()).message());
  }
  if (S_ISDIR(status.st_mode)) {
    return failure(errc::program_not_executable, tried, "it is a directory; name a file");
  }
  if (::access(path.c_str(), static_cast<int>(access)) == 0) return {};
  return failure(errc::program_not_executable,
                 tried,
                 access == Access::read ? "it may not be read; check its permissions (chmod +r)"
                                        : "it may not be run; check its permissions (chmod +x)");
}

}  // namespace

Result<std::string> find_in_path(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) {
    auto usable = check_file(name, Access::execute);
    if (!usable) return failure(std::move(usable.error()));
    return name;
  }
  const auto set = environment.find("PATH");
  const std::string path = set == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : set->second;
  std::optional<base::Error> denied;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    auto usable = check_file(candidate, Access::execute);
    if (usable) return candidate;
    if (usable.error().code == errc::program_not_executable && !denied) denied = usable.error();
    begin = end + 1;
  }
  if (denied) return failure(*denied);
  return failure(
      errc::program_not_found, "'" + name + "' in PATH", "give a path, or add its folder to PATH");
}

namespace {

Result<std::string> find_interpreter(const Environment& environment) {
  if (const std::string chosen = value_of(environment, "PYTHON_EXEC").value_or("");
      !chosen.empty()) {
    auto path = find_in_path(chosen, environment);
    if (!path) return failure(path.error().within("interpreter from PYTHON_EXEC"));
    return path;
  }
  if (const std::string venv = value_of(environment, "VIRTUAL_ENV").value_or(""); !venv.empty()) {
    const std::string candidate = venv + "/bin/python3";
    if (check_file(candidate, Access::execute)) return candidate;
  }
  if (auto python3 = find_in_path("python3", environment)) return python3;
  if (auto python = find_in_path("python", environment)) return python;
  return failure(errc::program_not_found,
                 "Python interpreter (python3, python) in PATH",
                 "set PYTHON_EXEC to one, or use --no-python for a program that is not Python");
}

}  // namespace

Result<WorkerCommand> resolve_command(const Program& program, const Environment& environment) {
  WorkerCommand command;
  if (program.kind == ProgramKind::executable) {
    auto path = find_in_path(program.name, environment);
    if (!path) return failure(path.error().within("program"));
    command.executable = *path;
    command.arguments = {program.name};
  } else {
    const bool is_stdin = program.name == "-";
    if (program.kind == ProgramKind::python_script && !is_stdin) {
      auto readable = check_file(program.name, Access::read);
      if (!readable) return failure(readable.error().within("script"));
    }
    auto interpreter = find_interpreter(environment);
    if (!interpreter) return failure(std::move(interpreter.error()));
    command.executable = *interpreter;
    command.interpreter = *interpreter;
    command.arguments = {*interpreter, "-u"};
    if (program.kind == ProgramKind::python_module) command.arguments.emplace_back("-m");
    command.arguments.push_back(program.name);
  }
  command.arguments.insert(
      command.arguments.end(), program.arguments.begin(), program.arguments.end());
  return command;
}

std::string substitute_local_rank(std::string_view text, int local_rank) {
  return substitute(text, [local_rank](std::string_view name) -> std::optional<std::string> {
    if (name != "local_rank") return std::nullopt;
    return std::to_string(local_rank);
  });
}

Input input_of(const LaunchConfig& config, int local_rank, bool stdin_is_terminal) {
  if (config.stdin_rank) {
    if (local_rank != *config.stdin_rank) return Input::nothing;
    return stdin_is_terminal ? Input::terminal : Input::inherited;
  }
  const bool would_compete = stdin_is_terminal && config.local_world_size > 1;
  return would_compete ? Input::nothing : Input::inherited;
}

}  // namespace rankrun::agent
