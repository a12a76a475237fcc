// SPDX-License-Identifier: Apache-2.0
#include "store/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace rankrun::store {
namespace {

constexpr std::size_t kPiecesPerWrite = 256;

std::error_code last_error() {
  return {errno, std::generic_category()};
}

/// What the peer's orderly close is told as.
std::error_code end_of_file() {
  return std::make_error_code(std::errc::connection_aborted);
}

ssize_t send_copied(int fd, const Output& output) {
  std::array<std::string_view, 1> bytes;
  output.gather(bytes);
  return ::send(fd, bytes[0].data(), bytes[0].size(), MSG_NOSIGNAL);
}

ssize_t send_pieces(int fd, const Output& output) {
  std::array<std::string_view, kPiecesPerWrite> pieces;
  const std::size_t count = output.gather(pieces);
  std::array<iovec, kPiecesPerWrite> vectors{};
  for (std::size_t i = 0; i < count; ++i) {
    vectors[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

}  // namespace

Connection::Connection(Service& service,
                       ConnectionId id,
                       base::UniqueFd socket,
                       base::Endpoint peer)
    : socket_(std::move(socket)), peer_(std::move(peer)), session_(service, id) {}

std::error_code Connection::read_turn(std::span<std::byte> chunk) {
  const ssize_t count = ::recv(fd(), chunk.data(), chunk.size(), 0);
  if (count == 0) return end_of_file();
  if (count < 0) return errno == EAGAIN || errno == EINTR ? std::error_code() : last_error();
  return finish(session_.take(chunk.first(static_cast<std::size_t>(count))));
}

std::error_code Connection::write_turn() {
  if (!session_.output().empty() || !session_.has_kept_input()) return flush();
  return finish(session_.go_on());
}

std::error_code Connection::decide_turn() {
  return finish(session_.decide());
}

/// Requests before a bad one are answered.
std::error_code Connection::finish(Session::Done done) {
  const std::error_code unwritten = flush();
  return done ? unwritten : make_error_code(done.error());
}

/// Writes once, as much as the kernel takes without waiting.
std::error_code Connection::flush() {
  Output& output = session_.output();
  if (output.empty()) return {};
  const ssize_t written =
      output.references() == 0 ? send_copied(fd(), output) : send_pieces(fd(), output);
  if (written < 0) return errno == EAGAIN || errno == EINTR ? std::error_code() : last_error();
  output.consume(static_cast<std::size_t>(written));
  return {};
}

}  // namespace rankrun::store
