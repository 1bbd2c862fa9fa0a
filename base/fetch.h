// Asks for cache lines before they are needed. Hints: nothing is read or written, and any address will do.
//
//   FetchLines(row, columns * sizeof(float));   // will be read
//   FetchToWrite(sums);                         // will be written
//
// What a core writes must be its cache's alone. A line that another core has read last is asked back when it is written, unless it
// was fetched to be written; fetched to be read, it is asked for twice. Thread-safe.
#pragma once

#include <cstdint>

namespace tessera {

// The line that holds *p, for writing.
inline __attribute__((always_inline)) void FetchToWrite(const void* p) {
#if defined(__x86_64__) || defined(__i386__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));  // The builtin emits it only where CPUs without it are left out.
#else
  __builtin_prefetch(p, /*for writing=*/1, /*keep=*/3);
#endif
}

// All lines of `bytes` bytes from a line's beginning on, for writing.
inline void FetchToWrite(const void* begin, int64_t bytes) {
  constexpr int64_t kLine = 64;
  for (int64_t i = 0; i < bytes; i += kLine) FetchToWrite(static_cast<const char*>(begin) + i);
}

// All lines of `bytes` bytes from a line's beginning on, for reading.
inline void FetchLines(const void* begin, int64_t bytes) {
  constexpr int64_t kLine = 64;
  for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(static_cast<const char*>(begin) + i, /*for writing=*/0, /*keep=*/3);
}

}  // namespace tessera
