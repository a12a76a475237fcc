// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/store_servers.h"

#include "apps/bench/floor_server.h"
#include "apps/bench/wait.h"
#include "store/base/endpoint.h"
#include "store/base/log.h"
#include "store/server.h"

#include <fmt/format.h>
#include <spdlog/sinks/null_sink.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

namespace rankrun::bench {

using base::failure;
using base::Result;
using base::UniqueFd;
namespace fs = std::filesystem;

namespace {

constexpr base::Duration kStartLimit = std::chrono::seconds(60);  // Python imports PyTorch

// Replaces two files of /etc for one process, then becomes it.
constexpr const char* kWithNames =
    "mount --bind \"$0\" /etc/nsswitch.conf && mount --bind \"$1\" /etc/resolv.conf && shift && "
    "exec \"$@\"";

constexpr const char* kTorchServer = R"(
import datetime, signal, sys
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False,
                 timeout=datetime.timedelta(seconds=60), use_libuv=sys.argv[1] == "libuv")
print(store.port, flush=True)
signal.pause()
)";

std::string own_path() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

std::vector<std::string> words_of(const Bench& bench, ServerKind kind) {
  switch (kind) {
    case ServerKind::rankrun:
      return {own_path(), "store-server"};
    case ServerKind::floor:
      return {own_path(), "store-server", "--floor"};
    case ServerKind::libuv:
    case ServerKind::poll:
      break;
  }
  const std::string python = fs::path(bench.launchers.torchrun->path).parent_path() / "python";
  return {python, "-c", kTorchServer, name_of(kind)};
}

Result<std::string> write_file(const Bench& bench, const char* name, std::string_view text) {
  const fs::path path = bench.place.folder() / name;
  std::ofstream file(path);
  file << text << std::flush;
  if (!file) return failure({}, fmt::format("cannot write '{}'", path.string()), "set TMPDIR");
  return path.string();
}

Result<std::vector<std::string>> with_names(const Bench& bench,
                                            Names names,
                                            const std::vector<std::string>& words) {
  const bool mute = names == Names::mute_server;
  const auto sources = write_file(
      bench, mute ? "names-by-dns" : "names-by-files", mute ? "hosts: dns\n" : "hosts: files\n");
  // An address for documentation, where nobody is.
  const auto resolver = write_file(bench, "resolver", "nameserver 192.0.2.1\n");
  if (!sources || !resolver) return failure(sources ? resolver.error() : sources.error());
  std::vector<std::string> all = {"/usr/bin/unshare", "--mount"};
  if (::geteuid() != 0) all.emplace_back("--map-root-user");
  for (const char* word : {"/bin/sh", "-c", kWithNames}) {
    all.emplace_back(word);
  }
  all.push_back(*sources);
  all.push_back(*resolver);
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

// The first line of what comes; Python may write it in pieces.
Result<std::uint16_t> read_port(int fd, base::TimePoint deadline) {
  std::string line;
  while (!line.ends_with('\n')) {
    if (auto ready = wait_readable(fd, deadline); !ready) return failure(std::move(ready.error()));
    char byte = 0;
    if (::read(fd, &byte, 1) <= 0) return failure({}, "it ended before it told its port");
    line += byte;
  }
  line.pop_back();
  return base::parse_port(line);
}

}  // namespace

std::string name_of(ServerKind kind) {
  switch (kind) {
    case ServerKind::rankrun:
      return "rankrun";
    case ServerKind::libuv:
      return "libuv";
    case ServerKind::poll:
      return "poll";
    case ServerKind::floor:
      return "floor";
  }
  return "";
}

Result<StoreServer> StoreServer::start(const Bench& bench, ServerKind kind, Names names) {
  const auto named = [&](const base::Error& error) {
    return failure(error.within(fmt::format("the {} store server", name_of(kind))));
  };
  Result<std::vector<std::string>> words = words_of(bench, kind);
  // Ours and the floor look nobody up, unless that is to be shown.
  const bool is_torch = kind == ServerKind::libuv || kind == ServerKind::poll;
  if (is_torch || names == Names::mute_server) words = with_names(bench, names, *words);
  if (!words) return named(words.error());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::errno_failure(errno, "cannot make a pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  Command command = bench.place.command(std::move(*words));
  command.stdout_fd = write_end.get();
  auto program = Program::start(command);
  if (!program) return named(program.error());
  write_end.reset();
  const auto port = read_port(read_end.get(), base::Clock::now() + kStartLimit);
  if (!port) return named(port.error());
  return StoreServer(kind, std::move(*program), *port);
}

Result<std::vector<StoreServer>> start_servers(const Bench& bench,
                                               const std::vector<ServerKind>& kinds) {
  std::vector<StoreServer> servers;
  for (const ServerKind kind : kinds) {
    const bool is_torch = kind == ServerKind::libuv || kind == ServerKind::poll;
    if (is_torch && !bench.launchers.torchrun) continue;
    auto server = StoreServer::start(bench, kind);
    if (!server) return failure(std::move(server.error()));
    servers.push_back(std::move(*server));
  }
  return servers;
}

Result<void> run_store_server(const StoreServerOptions& options) {
  const auto tell = [](std::uint16_t port) {
    std::printf("%u\n", static_cast<unsigned>(port));
    std::fflush(stdout);
  };
  if (options.floor) {
    auto server = FloorServer::open();
    if (!server) return failure(std::move(server.error()));
    tell(server->port());
    server->run();
  }
  auto log =
      std::make_shared<spdlog::logger>("store", std::make_shared<spdlog::sinks::null_sink_mt>());
  const auto server = store::Server::start({}, log);
  if (!server) return failure(server.error());
  tell((*server)->port());
  for (;;) {
    ::pause();
  }
}

}  // namespace rankrun::bench
