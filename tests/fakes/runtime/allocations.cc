#include "tessera/tests/fakes/runtime/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

std::atomic<int64_t> allocations{0}, failing{-1};

}  // namespace

int64_t Allocations() { return allocations.load(); }

void FailAllocation(int64_t number) { failing = number == 0 ? -1 : allocations.load() + number; }

}  // namespace tessera

#ifndef TESSERA_SANITIZED   // Inlined, g++ takes malloc and delete for a mismatch.
__attribute__((noinline)) void* operator new(size_t bytes) {
  const int64_t number = tessera::allocations.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number != tessera::failing.load(std::memory_order_relaxed)) {
    if (void* const memory = std::malloc(bytes)) return memory;
  }
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif
