// SPDX-License-Identifier: Apache-2.0
#include "agent/error_file.h"

#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace rankrun::agent {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// As PyTorch's record decorator writes it.
constexpr auto kException =
    R"({"message": {"message": "RuntimeError: loss is NaN\nat step 7", "extraInfo": )"
    R"({"py_callstack": "Traceback (most recent call last):\n  File \"train.py\", line 3\n)"
    R"(RuntimeError: loss is NaN\n", "timestamp": "1700000000"}}})";

std::string reason(const std::string& text) {
  const auto parsed = parse_error_file(text);
  return parsed ? "valid" : parsed.error().message();
}

TEST_CASE("an exception's file has its message and call stack", "[agent][error_file]") {
  const auto error = parse_error_file(kException);
  REQUIRE(error);
  CHECK(error->message == "RuntimeError: loss is NaN\nat step 7");
  CHECK(error->call_stack ==
        "Traceback (most recent call last):\n  File \"train.py\", line 3\n"
        "RuntimeError: loss is NaN\n");
}

TEST_CASE("the plain form has only a message", "[agent][error_file]") {
  for (const char* text : {R"({"message": "out of memory"})",
                           R"({"message": "out of memory", "timestamp": 1700000000})",
                           R"({"message": "out of memory", "timestamp": "1700000000"})"}) {
    const auto error = parse_error_file(text);
    REQUIRE(error);
    CHECK(*error == WorkerError{"out of memory", ""});
  }
}

TEST_CASE("parts of an exception's file may be missing or of another kind", "[agent][error_file]") {
  for (const char* text : {R"({"message": {"message": "m"}})",
                           R"({"message": {"message": "m", "extraInfo": null}})",
                           R"({"message": {"message": "m", "extraInfo": {"py_callstack": 3}}})",
                           R"({"message": {"message": "m", "extraInfo": [1]}, "errorCode": 1})"}) {
    INFO(text);
    const auto error = parse_error_file(text);
    REQUIRE(error);
    CHECK(*error == WorkerError{"m", ""});
  }
}

TEST_CASE("whatever else a file holds is named", "[agent][error_file]") {
  CHECK(reason("no json") == "it is not JSON");
  CHECK(reason(std::string(kException).substr(0, 100)) == "it is not JSON");
  CHECK(reason("{\"message\": \"\xff\"}") == "it is not JSON");
  CHECK(reason(std::string("\0\0\0", 3)) == "it is not JSON");
  CHECK(reason(R"({"message": 1e999})") == "it is not JSON");
  CHECK(reason("[]") == "it has no \"message\"");
  CHECK(reason("null") == "it has no \"message\"");
  CHECK(reason("{}") == "it has no \"message\"");
  CHECK(reason(R"({"message": 7})") == "its \"message\" holds no text");
  CHECK(reason(R"({"message": {}})") == "its \"message\" holds no text");
  CHECK(reason(R"({"message": {"message": ["m"]}})") == "its \"message\" holds no text");
}

TEST_CASE("a depth bomb is refused", "[agent][error_file]") {
  const std::size_t depth = kMostErrorFile / 16;
  const std::string open(depth, '[');
  const std::string close(depth, ']');
  CHECK(reason(open) != "valid");
  CHECK(reason("{\"message\": \"m\", \"x\": " + open + close + "}") == "it nests too deep");
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) {
    objects += R"({"a":)";
  }
  CHECK(reason(objects + "1" + std::string(depth, '}')) == "it nests too deep");
}

TEST_CASE("long texts keep the start of the message and the end of the call stack",
          "[agent][error_file]") {
  const json document{
      {"message",
       {{"message", "first" + std::string(2 * kMostErrorText, 'm')},
        {"extraInfo", {{"py_callstack", std::string(2 * kMostErrorText, 's') + "\nlast"}}}}}};
  const auto error = parse_error_file(document.dump());
  REQUIRE(error);
  CHECK(error->message.size() == kMostErrorText);
  CHECK_THAT(error->message, Catch::StartsWith("first"));
  CHECK(error->call_stack == "last");
}

TEST_CASE("a file that is not there is no error file", "[agent][error_file]") {
  const tests::TempDir dir;
  CHECK_FALSE(read_error_file(""));
  CHECK_FALSE(read_error_file(dir.path() / "error.json"));
}

TEST_CASE("only regular files of a bounded size are read", "[agent][error_file]") {
  const tests::TempDir dir;
  const std::string good = dir.file("good.json", kException);
  const std::string path = dir.path() / "error.json";
  std::string why;
  SECTION("a directory") {
    fs::create_directory(path);
    why = "it is not a regular file";
  }
  SECTION("a pipe that nobody writes to") {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    why = "it is not a regular file";
  }
  SECTION("a link, even to a good file") {
    fs::create_symlink(good, path);
    why = "it is a link";
  }
  SECTION("a link to nothing") {
    fs::create_symlink("/no/such/file", path);
    why = "it is a link";
  }
  SECTION("an empty file") {
    dir.file("error.json", "");
    why = "it is empty";
  }
  SECTION("a file of 1 GiB") {
    dir.file("error.json", "{");
    REQUIRE(::truncate(path.c_str(), off_t{1} << 30) == 0);
    why = "it is larger than 1 MiB";
  }
  const auto file = read_error_file(path);
  REQUIRE(file);
  CHECK(file->path == path);
  CHECK_FALSE(file->error);
  CHECK(file->invalid == why);
  CHECK_FALSE(error_file_for_parent(path, 1));
}

TEST_CASE("a file of exactly the greatest size is read", "[agent][error_file]") {
  const tests::TempDir dir;
  std::string text = R"({"message": "m"})";
  const std::string path = dir.file("error.json", text.append(kMostErrorFile - text.size(), ' '));
  REQUIRE(read_error_file(path));
  CHECK(read_error_file(path)->error);
  dir.file("error.json", text + " ");
  CHECK_FALSE(read_error_file(path)->error);
}

TEST_CASE("a forwarded file gets the exit code inside its message", "[agent][error_file]") {
  const tests::TempDir dir;
  const auto text = error_file_for_parent(dir.file("error.json", kException), -9);
  REQUIRE(text);
  json expected = json::parse(kException);
  expected["message"]["errorCode"] = -9;
  CHECK(json::parse(*text) == expected);
}

TEST_CASE("the plain form is forwarded as it is", "[agent][error_file]") {
  const tests::TempDir dir;
  const std::string plain = R"({"message": "m",  "timestamp": 1, "more": [1.0]})";
  const auto text = error_file_for_parent(dir.file("error.json", plain), 3);
  REQUIRE(text);
  CHECK(*text == plain);
}

TEST_CASE("an error file of our own has an exception's form", "[agent][error_file]") {
  const std::string text = launcher_error_file(
      "port \x1b\xff taken",
      std::chrono::system_clock::time_point(std::chrono::milliseconds(1700000000999)));
  const auto error = parse_error_file(text);
  REQUIRE(error);
  CHECK(error->message == "port \x1b\xef\xbf\xbd taken");
  CHECK(error->call_stack == error->message);
  CHECK(json::parse(text)["message"]["extraInfo"]["timestamp"] == "1700000000");
}

}  // namespace
}  // namespace rankrun::agent
