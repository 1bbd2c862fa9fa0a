// Tells a process from its parent. A forked process has none of the parent's other threads: a wait for such threads would never end.
//
//   const int64_t made_in = ForksSoFar();                 // when threads are started
//   if (ForksSoFar() != made_in) return;                  // they are another process's
//
// A call is one load of a number that never changes within a process. A process made by clone(2), without fork(3), is not told from its
// parent. Thread-safe.
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

// Returns the number of forks between this process and the ancestor that called ForksSoFar first.
int64_t ForksSoFar();

}  // namespace tessera
