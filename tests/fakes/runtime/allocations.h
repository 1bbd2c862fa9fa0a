// Counts allocations of the runtime's tests by operator new, and lets one of these calls fail.
//
//   const int64_t before = Allocations();
//   FailAllocation(3);                        // the third from now on throws std::bad_alloc, whichever thread asks
//
// Thread-safe. Under a sanitizer, which has its own operators, nothing is counted and nothing fails.
#pragma once

#include <cstdint>

namespace tessera {

int64_t Allocations();

void FailAllocation(int64_t number);  // 0: none.

}  // namespace tessera
