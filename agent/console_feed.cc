// SPDX-License-Identifier: Apache-2.0
#include "agent/console_feed.h"

#include "agent/rank_ranges.h"
#include "store/base/async.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>
#include <vector>

namespace rankrun::agent {

namespace asio = boost::asio;
using base::Clock;

namespace {

// At most this much is read back from a file at once.
constexpr std::size_t kReadBack = std::size_t{64} << 10;

}  // namespace

ConsoleStream::ConsoleStream(ConsoleFeed& feed, SourceId id, StreamOrigin origin)
    : feed_(feed),
      id_(id),
      origin_(std::move(origin)),
      resumed_(feed.executor_, base::TimePoint::max()) {}

void ConsoleStream::add(std::string_view bytes, std::size_t in_file) {
  in_file_ += in_file;
  if (feed_.takes_more()) {
    shown_ = in_file_;
    show(bytes);
    return;
  }
  in_memory_ += bytes.substr(in_file);
  feed_.fall_behind();
}

asio::awaitable<void> ConsoleStream::resumed() {
  while (must_pause()) {
    co_await resumed_.async_wait(base::kUseTuple);
  }
}

void ConsoleStream::flush() {
  // What is behind comes in its turn.
  if (!is_behind() && lines_.has_rest()) feed_.show(*this, lines_.take_rest());
}

void ConsoleStream::finish() {
  is_finished_ = true;
  if (!is_behind()) feed_.end(*this);
}

std::optional<base::TimePoint> ConsoleStream::idle_at() const {
  if (is_behind() || !lines_.has_rest()) return std::nullopt;
  return grew_ + ConsoleFeed::kIdleFlush;
}

void ConsoleStream::show(std::string_view bytes) {
  for (const std::string_view whole : lines_.add(bytes)) {
    if (!whole.empty()) feed_.show(*this, whole);
  }
  if (!lines_.has_rest()) return;
  grew_ = Clock::now();
  feed_.arm(grew_ + ConsoleFeed::kIdleFlush);
}

void ConsoleStream::show_more() {
  if (shown_ < in_file_) {
    char buffer[kReadBack];  // not cleared: that would cost as much as the reading
    const std::size_t size = std::min(sizeof buffer, in_file_ - shown_);
    const std::size_t got = origin_.file->read_back(shown_, std::span(buffer, size));
    shown_ = got > 0 ? shown_ + got : in_file_;
    if (got > 0) show({buffer, got});
    return;
  }
  show(std::exchange(in_memory_, {}));
  resumed_.cancel();
}

void ConsoleStream::skip() {
  shown_ = in_file_;
  in_memory_.clear();
  resumed_.cancel();
}

ConsoleFeed::ConsoleFeed(asio::any_io_executor executor, int fd, bool folds)
    : executor_(std::move(executor)),
      console_(executor_, fd),
      due_(executor_),
      tasks_(executor_, [](const std::exception_ptr& thrown) { std::rethrow_exception(thrown); }) {
  if (folds) fold_.emplace();
}

ConsoleStream& ConsoleFeed::open(StreamOrigin origin) {
  const SourceId id = next_id_++;
  if (fold_) fold_->open(id);
  auto stream = std::make_unique<ConsoleStream>(*this, id, std::move(origin));
  return *streams_.emplace(id, std::move(stream)).first->second;
}

asio::awaitable<void> ConsoleFeed::close(base::Duration patience) {
  tasks_.stop();
  co_await tasks_.join();
  bool takes_some = true;
  ConsoleStream* stream = next_behind();
  while (takes_some && stream != nullptr) {
    show_behind(*stream);
    while (takes_some && console_.full()) {
      takes_some = co_await console_.progress(patience);
    }
    stream = next_behind();
  }
  co_await console_.close(takes_some ? patience : base::Duration::zero());
  has_stalled_ = !takes_some || console_.has_stalled();
}

void ConsoleFeed::show(ConsoleStream& stream, std::string_view text) {
  if (fold_) {
    fold_->add(stream.id_, text, Clock::now());
    return show_folded();
  }
  const WallTime now = std::chrono::system_clock::now();
  console_.show({stream.id_, stream.origin_.prefix.at(now), text});
}

void ConsoleFeed::show_folded() {
  while (const auto line = fold_->take(Clock::now())) {
    show_folded(*line);
  }
  if (const auto due = fold_->next_due()) arm(*due);
}

void ConsoleFeed::show_folded(const LineFold::Line& line) {
  if (line.sources.size() == 1) {
    StreamOrigin& origin = streams_.at(line.sources.front())->origin_;
    const WallTime now = std::chrono::system_clock::now();
    return console_.show({line.sources.front(), origin.prefix.at(now), line.text});
  }
  std::vector<int> ranks;
  for (const SourceId source : line.sources) {
    ranks.push_back(streams_.at(source)->origin_.rank);
  }
  const std::string prefix = "[ranks " + rank_ranges(std::move(ranks)) + "]: ";
  console_.show({kOwnSource, prefix, line.text});
}

void ConsoleFeed::end(ConsoleStream& stream) {
  stream.flush();
  if (fold_) {
    fold_->close(stream.id_);
    show_folded();
  }
  streams_.erase(stream.id_);
}

void ConsoleFeed::fall_behind() {
  if (std::exchange(catching_up_, true)) return;
  tasks_.spawn(catch_up());
}

asio::awaitable<void> ConsoleFeed::catch_up() {
  for (;;) {
    co_await console_.writable();
    ConsoleStream* stream = next_behind();
    if (stream == nullptr) break;
    show_behind(*stream);
    co_await asio::post(executor_, asio::use_awaitable);  // there is more to do than this
  }
  catching_up_ = false;
}

// The streams of former attempts come first: they are finished, those of the present one are not.
// Else each in its turn.
ConsoleStream* ConsoleFeed::next_behind() {
  ConsoleStream* first = nullptr;
  ConsoleStream* next = nullptr;
  for (const auto& [id, stream] : streams_) {
    if (!stream->is_behind()) continue;
    if (stream->is_finished_) return stream.get();
    if (first == nullptr) first = stream.get();
    if (next == nullptr && id > last_caught_up_) next = stream.get();
  }
  return next != nullptr ? next : first;
}

void ConsoleFeed::show_behind(ConsoleStream& stream) {
  last_caught_up_ = stream.id_;
  if (console_.is_broken()) {
    stream.skip();
  } else {
    stream.show_more();
  }
  if (stream.is_finished_ && !stream.is_behind()) end(stream);
}

void ConsoleFeed::arm(base::TimePoint due) {
  if (ticking_) {
    if (due < due_.expiry()) due_.cancel();
    return;
  }
  ticking_ = true;
  tasks_.spawn(tick());
}

std::optional<base::TimePoint> ConsoleFeed::next_due() const {
  auto due = fold_ ? fold_->next_due() : std::nullopt;
  for (const auto& [id, stream] : streams_) {
    const auto idle = stream->idle_at();
    if (idle && (!due || *idle < *due)) due = idle;
  }
  return due;
}

void ConsoleFeed::flush_due(base::TimePoint now) {
  for (const auto& [id, stream] : streams_) {
    const auto idle = stream->idle_at();
    if (idle && *idle <= now) stream->flush();
  }
  if (fold_) show_folded();
}

asio::awaitable<void> ConsoleFeed::tick() {
  while (const auto due = next_due()) {
    due_.expires_at(*due);
    co_await due_.async_wait(base::kUseTuple);
    flush_due(Clock::now());
  }
  ticking_ = false;
}

}  // namespace rankrun::agent
