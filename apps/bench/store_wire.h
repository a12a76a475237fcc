// SPDX-License-Identifier: Apache-2.0
// Pure: requests of the c10d store protocol (store/PROTOCOL.md), as a client of PyTorch 2.2 or
// later sends them. Not the store's own codec, which decodes and is what is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rankrun::bench::wire {

inline constexpr std::size_t kCountBytes = 8;  // of a number or a length on the wire
inline constexpr std::size_t kPingReplyBytes = 4;

/// Numbers are little-endian.
std::string u64(std::uint64_t number);
std::uint64_t read_u64(std::string_view bytes);
std::string blob(std::string_view bytes);

std::string handshake();  ///< VALIDATE; no reply
std::string ping();
std::string set(std::string_view key, std::string_view value);
std::string get(std::string_view key);
std::string add(std::string_view key, std::uint64_t delta);
std::string wait(const std::vector<std::string>& keys);
std::string multi_get(const std::vector<std::string>& keys);
std::string multi_set(const std::vector<std::string>& keys, std::string_view value);

/// The length of the request at the front of `bytes`; 0 when it is not whole, or none of those
/// above (nor MULTI_SET, which the floor does not serve).
std::size_t request_length(std::string_view bytes);

}  // namespace rankrun::bench::wire
