// SPDX-License-Identifier: Apache-2.0
#include "tests/store/vectors.h"

#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rankrun::store::test {
namespace {

[[noreturn]] void not_understood(std::string_view text) {
  throw std::invalid_argument("not understood: " + std::string(text));
}

template <typename Number>
Number parse(std::string_view digits, int base) {
  Number number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (error != std::errc() || end != digits.data() + digits.size()) not_understood(digits);
  return number;
}

StepKind kind_of(std::string_view mark) {
  if (mark == ">") return StepKind::send;
  if (mark == "<") return StepKind::expect;
  if (mark == "<?") return StepKind::expect_in_any_order;
  if (mark == "~") return StepKind::expect_nothing;
  if (mark == "X") return StepKind::expect_close;
  if (mark == ".") return StepKind::close;
  not_understood(mark);
}

Step parse_step(const std::string& line) {
  std::istringstream words(line);
  std::string head;
  words >> head;
  Step step;
  step.text = line;
  step.connection = head.at(0);
  step.kind = kind_of(head.substr(1));
  std::string all;
  for (std::string word; words >> word;) {
    if (step.kind == StepKind::expect_in_any_order) {
      step.bytes.push_back(from_hex(word));
    } else {
      all += word;
    }
  }
  if (step.kind == StepKind::send || step.kind == StepKind::expect) {
    step.bytes.push_back(from_hex(all));
  } else if (!all.empty()) {
    not_understood(line);
  }
  return step;
}

Vector parse_head(const std::string& line, bool raw_by_default) {
  Vector vector;
  const auto bracket = line.find("  [");
  vector.name = line.substr(0, bracket);
  vector.raw = raw_by_default || line.find("  [raw") != std::string::npos;
  return vector;
}

}  // namespace

std::string from_hex(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    if (text[0] == ' ') {
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 2) not_understood(text);
    const char byte = static_cast<char>(parse<unsigned char>(text.substr(0, 2), 16));
    text.remove_prefix(2);
    std::size_t times = 1;
    if (text.starts_with('{')) {
      const auto close = text.find('}');
      if (close == std::string_view::npos) not_understood(text);
      times = parse<std::size_t>(text.substr(1, close - 1), 10);
      text.remove_prefix(close + 1);
    }
    bytes.append(times, byte);
  }
  return bytes;
}

std::vector<Vector> read_vectors(const std::string& file) {
  std::ifstream lines(std::string(RANKRUN_CONFORMANCE_FOLDER) + "/" + file);
  if (!lines) throw std::runtime_error("cannot read " + file);
  const bool is_legacy = file.find("legacy") != std::string::npos;
  std::vector<Vector> vectors;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != ' ') {
      vectors.push_back(parse_head(line, is_legacy));
    } else {
      vectors.at(vectors.size() - 1).steps.push_back(parse_step(line));
    }
  }
  return vectors;
}

}  // namespace rankrun::store::test
