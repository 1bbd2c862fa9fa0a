// How often this process has allocated with operator new so far. A program that links this file counts, at one addition per allocation.
//
//   const int64_t before = Allocations();
//   RETURN_IF_ERROR(session->Append({&token, 1}));
//   const int64_t of_pass = Allocations() - before;
//
// Thread-safe.
#pragma once

#include <cstdint>

namespace tessera {

int64_t Allocations();

}  // namespace tessera
