// SPDX-License-Identifier: Apache-2.0
#include "store/errc.h"

#include <string>

namespace rankrun::store {
namespace {

class StoreCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "store"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::bad_magic:
        return "the handshake has a wrong magic number";
      case errc::unknown_protocol:
        return "not a store client";
      case errc::legacy_refused:
        return "clients of PyTorch 1.13 to 2.1 are not served here";
      case errc::unknown_code:
        return "unknown request code";
      case errc::repeated_handshake:
        return "second handshake on one connection";
      case errc::key_too_long:
        return "key is too long";
      case errc::value_too_long:
        return "value is too long";
      case errc::too_many_keys:
        return "too many keys in one request";
      case errc::key_list_too_long:
        return "the keys of one request are too long together";
      case errc::not_a_number:
        return "the value is not a number";
      case errc::not_an_address:
        return "not an IPv4 or IPv6 address";
      case errc::too_many_connections:
        return "too many connections";
      case errc::made_room:
        return "said nothing and made room for another connection";
      case errc::silent_too_long:
        return "said nothing for too long";
      case errc::peer_not_reading:
        return "the client does not read its replies";
    }
    return "unknown error";
  }
};

}  // namespace

const std::error_category& store_category() {
  static const StoreCategory category;
  return category;
}

std::error_code make_error_code(errc code) {
  return {static_cast<int>(code), store_category()};
}

}  // namespace rankrun::store
