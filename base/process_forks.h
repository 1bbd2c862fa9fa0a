// Tells a process from its parent. A forked process has none of the other threads of its parent: a wait for them would never end.
//
//   const int64_t made_in = ForksSoFar();                 // when threads are started
//   if (ForksSoFar() != made_in) return;                  // they are another process's
//
// A look is a load of a number that changes in no process. A process that is made by clone(2), without fork(3), is not told from its
// parent. Thread-safe.
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

// Returns how many forks lie between this process and its ancestor that called this first.
int64_t ForksSoFar();

}  // namespace tessera
