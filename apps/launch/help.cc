// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/help.h"

#include "apps/launch/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rankrun::launch {
namespace {

constexpr std::string_view kPurpose =
    "Starts the workers of a distributed training job and keeps them alive. Takes torchrun's "
    "command line. Options end at the program; each may be written with dashes or underscores, or "
    "shortened as long as it is the only one.";

constexpr std::size_t kWidth = 80;
constexpr std::size_t kTextColumn = 30;

// `text` in lines that begin at `column`; the first one continues a line of `used` characters.
std::string wrapped(std::string_view text, std::size_t column, std::size_t used) {
  std::string lines;
  if (used > 0 && used + 2 > column) {
    lines += '\n';
    used = 0;
  }
  lines.append(column - used, ' ');
  std::size_t at = column;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (at > column && at + 1 + word.size() > kWidth) {
      lines += '\n';
      lines.append(column, ' ');
      at = column;
    }
    if (at > column) lines += ' ';
    lines += word;
    at += word.size() + (at > column ? 1 : 0);
  }
  return lines + '\n';
}

std::string option_lines(const Option& option) {
  std::string left = option.letter == 0 ? "      --" : fmt::format("  -{}, --", option.letter);
  left += option.name;
  if (takes_value(option)) left += fmt::format("={}", option.value_name);
  return left + wrapped(option.help, kTextColumn, left.size());
}

// The names of the options that no variable sets: "--logs-specs, --help and --version".
std::string without_variable() {
  std::string names;
  std::string last;
  for (const Option& option : option_table()) {
    if (option.has_variable) continue;
    if (!last.empty()) names += names.empty() ? last : ", " + last;
    last = "--" + std::string(option.name);
  }
  return names + " and " + last;
}

std::string about_variables() {
  return "What the command line does not set may come from a variable, as PET_NPROC_PER_NODE=2; a "
         "switch is on when its variable is not 0. " +
         without_variable() + " have none.";
}

std::string options_of(bool are_ours) {
  std::string lines;
  for (const Option& option : option_table()) {
    if ((option.state == OptionState::ours) == are_ours) lines += option_lines(option);
  }
  return lines;
}

// Text that roff prints as it is.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  const bool is_request = text.starts_with('.') || text.starts_with('\'');
  return is_request ? "\\&" + escaped : escaped;
}

std::string manual_entry(const Option& option) {
  std::string entry = ".TP\n";
  if (option.letter != 0) entry += fmt::format("\\fB\\-{}\\fR, ", option.letter);
  entry += fmt::format("\\fB\\-\\-{}\\fR", roff(option.name));
  if (takes_value(option)) entry += fmt::format("=\\fI{}\\fR", roff(option.value_name));
  entry += "\n" + roff(option.help) + "\n";
  if (!option.difference.empty()) entry += "Other than torchrun: " + roff(option.difference) + "\n";
  return entry;
}

std::string manual_options(bool are_ours) {
  std::string entries;
  for (const Option& option : option_table()) {
    if ((option.state == OptionState::ours) == are_ours) entries += manual_entry(option);
  }
  return entries;
}

std::string manual_variables() {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kVariables = {{
      {"PYTHON_EXEC",
       "The Python interpreter. Else $VIRTUAL_ENV/bin/python3, else python3 or "
       "python in PATH."},
      {"OMP_NUM_THREADS", "Handed to the workers; 1 when unset and there are several."},
      {"CUDA_VISIBLE_DEVICES", "The GPUs that count."},
      {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "Stands in for --shutdown-timeout."},
      {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "Stands in for --log-line-prefix-template."},
      {"LOGLEVEL",
       "Least level of rankrun's own messages: DEBUG, INFO, WARNING, ERROR or "
       "CRITICAL."},
  }};
  std::string entries = roff(about_variables()) + "\n";
  for (const auto& [name, meaning] : kVariables) {
    entries += fmt::format(".TP\n\\fB{}\\fR\n{}\n", name, roff(meaning));
  }
  return entries;
}

}  // namespace

std::string help_text() {
  return "usage: rankrun [options] program [arguments of the program ...]\n\n" +
         wrapped(kPurpose, 0, 0) + '\n' + wrapped(about_variables(), 0, 0) + "\nOptions:\n" +
         options_of(false) + "\nOptions that torchrun does not have:\n" + options_of(true);
}

std::string manual_page(std::string_view version) {
  return fmt::format(
      ".TH RANKRUN 1 \"\" \"rankrun {}\" \"User Commands\"\n"
      ".SH NAME\n"
      "rankrun \\- start distributed training jobs and keep them alive\n"
      ".SH SYNOPSIS\n"
      ".B rankrun\n"
      "[\\fIoptions\\fR] \\fIprogram\\fR [\\fIarguments of the program\\fR ...]\n"
      ".SH DESCRIPTION\n{}\n"
      ".SH OPTIONS\n{}"
      ".SH OPTIONS THAT TORCHRUN DOES NOT HAVE\n{}"
      ".SH ENVIRONMENT\n{}"
      ".SH EXIT STATUS\n"
      "0 when every worker ended with 0. After a failure the code of the first failing worker,\n"
      "or 128+n when signal n killed it. 128+n when rankrun itself was stopped by signal n.\n"
      "2 for a bad option or value, 126 or 127 for a program that cannot be run or does not\n"
      "exist, 1 for trouble of rankrun itself.\n",
      roff(version),
      roff(kPurpose),
      manual_options(false),
      manual_options(true),
      manual_variables());
}

}  // namespace rankrun::launch
