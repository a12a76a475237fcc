// SPDX-License-Identifier: Apache-2.0
#include "agent/route.h"

#include <catch2/catch.hpp>

namespace rankrun::agent {
namespace {

using Into = Route::Into;
using Show = Route::Show;

constexpr Surroundings kUsual{.has_log_dir = true, .is_terminal = false};
constexpr Surroundings kTerminal{.has_log_dir = true, .is_terminal = true};
constexpr Surroundings kNoDir{.has_log_dir = false, .is_terminal = true};

constexpr Route kFileOnly{
    .into = Into::pipe, .show = Show::nothing, .has_file = true, .is_filtered = false};
constexpr Route kTee{
    .into = Into::pipe, .show = Show::prefixed, .has_file = true, .is_filtered = false};

StreamSelection every(Streams streams) {
  StreamSelection selection;
  selection.of_every_worker = streams;
  return selection;
}

Route plain(Into into) {
  Route route;
  route.into = into;
  if (into != Into::ours) route.show = Show::plain;
  return route;
}

TEST_CASE("an untouched stdout is ours, and an untouched stderr is read on its way",
          "[agent][route]") {
  const OutputConfig config;
  for (const Surroundings& surroundings : {kUsual, kTerminal, kNoDir}) {
    CHECK(choose_route(config, 0, Stream::out, surroundings) == plain(Into::ours));
  }
  CHECK(choose_route(config, 0, Stream::err, kUsual) == plain(Into::pipe));
  CHECK(choose_route(config, 0, Stream::err, kTerminal) == plain(Into::terminal));
}

TEST_CASE("where output is a sign of life, stdout is read, too", "[agent][route]") {
  constexpr Surroundings kWatched{.has_log_dir = true, .is_terminal = true, .is_watched = true};
  OutputConfig config;
  CHECK(choose_route(config, 0, Stream::out, kWatched) == plain(Into::pipe));
  CHECK(choose_route(config, 0, Stream::err, kWatched) == plain(Into::terminal));
  config.console_ranks = {1};
  CHECK(choose_route(config, 0, Stream::out, kWatched).into == Into::pipe);
  CHECK(choose_route(config, 0, Stream::out, kWatched).show == Show::nothing);
}

TEST_CASE("tee wins over redirect, per rank and stream", "[agent][route]") {
  OutputConfig config;
  config.redirects = every(Streams::both);
  config.tee.by_local_rank = {{12, Streams::err}};
  CHECK(choose_route(config, 12, Stream::out, kTerminal) == kFileOnly);
  CHECK(choose_route(config, 12, Stream::err, kTerminal) == kTee);
  CHECK(choose_route(config, 1, Stream::err, kTerminal) == kFileOnly);
}

TEST_CASE("ranks that may not reach the console", "[agent][route]") {
  OutputConfig config;
  config.console_ranks = {1};
  SECTION("keep the file of a tee'd stream") {
    config.tee = every(Streams::both);
    CHECK(choose_route(config, 0, Stream::out, kUsual) == kFileOnly);
    CHECK(choose_route(config, 1, Stream::out, kUsual) == kTee);
  }
  SECTION("write an untouched stream to nowhere, though stderr is read for the report") {
    Route read;
    read.into = Into::pipe;
    Route nowhere;
    nowhere.into = Into::null_device;
    CHECK(choose_route(config, 0, Stream::out, kTerminal) == nowhere);
    CHECK(choose_route(config, 0, Stream::err, kTerminal) == read);
    CHECK(choose_route(config, 1, Stream::out, kTerminal) == plain(Into::ours));
    config.fold = true;
    CHECK(choose_route(config, 0, Stream::out, kTerminal) == nowhere);
  }
  SECTION("redirect as ever") {
    config.redirects = every(Streams::out);
    CHECK(choose_route(config, 0, Stream::out, kUsual) == kFileOnly);
  }
}

TEST_CASE("only tee'd streams that reach the console are filtered", "[agent][route]") {
  OutputConfig config;
  config.stdout_filters = {"loss"};
  config.tee = every(Streams::both);
  Route filtered = kTee;
  filtered.is_filtered = true;
  CHECK(choose_route(config, 0, Stream::out, kUsual) == filtered);
  CHECK(choose_route(config, 0, Stream::err, kUsual) == kTee);
  config.console_ranks = {1};
  CHECK(choose_route(config, 0, Stream::out, kUsual) == kFileOnly);
  config = {};
  config.stdout_filters = {"loss"};
  config.redirects = every(Streams::out);
  CHECK(choose_route(config, 0, Stream::out, kUsual) == kFileOnly);
}

TEST_CASE("without a log directory tee goes to the console only and redirect is void",
          "[agent][route]") {
  OutputConfig config;
  config.redirects = every(Streams::out);
  config.tee = every(Streams::err);
  config.stderr_filters = {"loss"};
  Route shown = kTee;
  shown.has_file = false;
  CHECK(choose_route(config, 0, Stream::err, kNoDir) == shown);
  CHECK(choose_route(config, 0, Stream::out, kNoDir) == plain(Into::ours));
}

TEST_CASE("folding reads both streams and shows them with a prefix", "[agent][route]") {
  OutputConfig config;
  config.fold = true;
  Route folded;
  folded.into = Into::pipe;
  folded.show = Show::prefixed;
  CHECK(choose_route(config, 0, Stream::out, kTerminal) == folded);
  CHECK(choose_route(config, 0, Stream::err, kTerminal) == folded);
  config.redirects = every(Streams::out);
  CHECK(choose_route(config, 0, Stream::out, kTerminal) == kFileOnly);
}

}  // namespace
}  // namespace rankrun::agent
