// Prefetches cache lines. Prefetches are hints: nothing is read or written, and any address is allowed.
//
//   FetchLines(row, columns * sizeof(float));   // will be read
//   FetchToWrite(sums);                         // will be written
//
// A core can only write a line that no other cache holds. If another core has read the line last, a write must first take the line back,
// unless the line was prefetched for writing. A line prefetched for reading is requested twice. Thread-safe.
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

// Returns the address `bytes` behind `begin`. Computed as a number, since a pointer must not leave its array, and null is in no array.
inline const void* AddressBehind(const void* begin, int64_t bytes) {
  return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(begin) + static_cast<uintptr_t>(bytes));
}

// Prefetches the line of *p for writing.
inline __attribute__((always_inline)) void FetchToWrite(const void* p) {
#if defined(__x86_64__) || defined(__i386__)
  asm volatile("prefetchw (%0)" : : "r"(p));  // The builtin emits prefetchw only if builds exclude CPUs without it.
#else
  __builtin_prefetch(p, /*for writing=*/1, /*keep=*/3);
#endif
}

// Prefetches all lines of `bytes` bytes from a line's begin on, for writing.
inline void FetchToWrite(const void* begin, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) FetchToWrite(AddressBehind(begin, i));
}

// Prefetches all lines of `bytes` bytes from a line's begin on, for reading.
inline void FetchLines(const void* begin, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(AddressBehind(begin, i), /*for writing=*/0, /*keep=*/3);
}

}  // namespace tessera
