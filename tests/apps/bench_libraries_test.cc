// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/libraries.h"

#include <catch2/catch.hpp>

namespace rankrun::bench {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("libc, libm, the loader and the kernel's page are no further libraries",
          "[bench][libraries]") {
  const std::string always =
      "\tlinux-vdso.so.1 (0x00007ffd)\n"
      "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f1)\n"
      "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f2)\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f3)\n";
  CHECK(further_libraries(always).empty());
  CHECK(further_libraries(always + "\tlibcrypto.so.3 => /lib/libcrypto.so.3 (0x1)\n") ==
        Names{"libcrypto.so.3"});
  CHECK(further_libraries("\tlibmagic.so.1 => not found\n") == Names{"libmagic.so.1"});
  CHECK(further_libraries("\tstatically linked\n") == Names{"statically"});
}

}  // namespace
}  // namespace rankrun::bench
