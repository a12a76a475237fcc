// SPDX-License-Identifier: Apache-2.0
#include "tests/store/allocations.h"

#include <cstdlib>
#include <new>

namespace rankrun::store::test {
namespace {

std::size_t total = 0;

}  // namespace

std::size_t allocated_bytes() {
  return total;
}

}  // namespace rankrun::store::test

void* operator new(std::size_t size) {
  rankrun::store::test::total += size;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// Catch2 uses this one, and the address sanitizer wants all of a kind from one place.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
