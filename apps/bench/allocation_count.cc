#include "tessera/apps/bench/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> allocations{0};

void* Counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();   // What operator new must do; AppMain catches it.
  allocations.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

size_t RoundedUp(size_t bytes, std::align_val_t alignment) {
  const size_t to = static_cast<size_t>(alignment);
  return (bytes + to - 1) / to * to;
}

}  // namespace

// The standard's other forms of new and delete call these four.
void* operator new(size_t bytes) { return Counted(std::malloc(bytes == 0 ? 1 : bytes)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return Counted(std::aligned_alloc(static_cast<size_t>(alignment), RoundedUp(bytes == 0 ? 1 : bytes, alignment)));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace tessera {

int64_t Allocations() { return allocations.load(std::memory_order_relaxed); }

}  // namespace tessera
