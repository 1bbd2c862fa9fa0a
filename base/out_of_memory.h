// Turns the standard library's out-of-memory exception into a Status, at the border of a library.
//
//   absl::StatusOr<Model> Open(const std::string& path) {
//     return OrOutOfMemory([&] { return OpenUnguarded(path); });   // ResourceExhausted "out of memory"
//   }
//
// Destructors undo the unfinished work. Thread-safe (no state).
#pragma once

#include <new>

#include "absl/status/status.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Calls `body` and returns its Status or StatusOr. ResourceExhausted if `body` throws std::bad_alloc.
template <typename Body>
auto OrOutOfMemory(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  }
}

}  // namespace tessera
