// SPDX-License-Identifier: Apache-2.0
// Why the store refuses something. Almost all of these close one connection and nothing else.
#pragma once

#include <system_error>

namespace rankrun::store {

enum class errc {
  bad_magic = 1,       ///< the opening 00 is followed by neither the magic nor a legacy key length
  unknown_protocol,    ///< the first byte of a connection begins no dialect
  legacy_refused,      ///< a client of PyTorch 1.13 to 2.1 where only newer ones are served
  unknown_code,        ///< a code that the dialect does not have
  repeated_handshake,  ///< VALIDATE again on the same connection
  key_too_long,        ///< more than kMaxKeyBytes announced
  value_too_long,      ///< more than kMaxValueBytes announced
  too_many_keys,       ///< more than kMaxKeys, or a negative number, announced
  key_list_too_long,   ///< the keys of one request exceed kMaxKeyListBytes together
  not_a_number,        ///< ADD or BARRIER on a value that is no decimal number of 64 bits
  not_an_address,      ///< the text to bind to is not an IPv4 or IPv6 literal
  too_many_connections,  ///< one more than ServerOptions::max_connections
  made_room,             ///< had said nothing yet when the table was full and another came
  silent_too_long,       ///< said nothing within ServerOptions::silence_limit
  peer_not_reading,      ///< replies were not taken within ServerOptions::write_limit
};

const std::error_category& store_category();
std::error_code make_error_code(errc code);

}  // namespace rankrun::store

template <>
struct std::is_error_code_enum<rankrun::store::errc> : std::true_type {};
